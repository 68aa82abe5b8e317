import { assertEquals, assertStringIncludes } from "@std/assert";
import { makeFifo } from "../../../ffi/descriptors/pipe.ts";
import { removeFolder } from "../../../src/sandbox/remove_folder.ts";
import { forwardTranscripts } from "../../../src/sandbox/transcripts/forward_transcripts.ts";
import { asAnotherUser, OTHER_USER_LACK } from "../../other_user.ts";

/** A folder of a run and a folder outside of it. */
class Ground implements Disposable {
  readonly path = Deno.realPathSync(Deno.makeTempDirSync());
  readonly run = `${this.path}/run`;
  readonly home = `${this.path}/home`;
  readonly outside = `${this.path}/outside`;

  constructor() {
    for (const dir of [this.run, this.home, this.outside]) Deno.mkdirSync(dir);
    Deno.writeTextFileSync(`${this.outside}/id_rsa`, "secret");
  }

  forward() {
    return forwardTranscripts({ from: this.run, to: this.home, resumed: {} });
  }

  [Symbol.dispose](): void {
    Deno.chmodSync(this.outside, 0o700);
    Deno.removeSync(this.path, { recursive: true });
  }
}

Deno.test("removing a run's folder follows no link", () => {
  using ground = new Ground();
  const { run, outside } = ground;
  Deno.mkdirSync(`${run}/config/projects`, { recursive: true });
  Deno.symlinkSync(outside, `${run}/config/projects/slug`);
  Deno.symlinkSync(`${outside}/id_rsa`, `${run}/prompt`);
  Deno.symlinkSync("..", `${run}/config/up`);
  Deno.symlinkSync("/", `${run}/root`);
  Deno.linkSync(`${outside}/id_rsa`, `${run}/hard`);
  makeFifo(`${run}/fifo`);
  Deno.mkdirSync(`${run}/${Array(120).fill("deep").join("/")}`, { recursive: true });
  assertEquals(removeFolder(run), undefined);
  assertEquals([...Deno.readDirSync(ground.path)].map(({ name }) => name).sort(), [
    "home",
    "outside",
  ]);
  assertEquals(Deno.readTextFileSync(`${outside}/id_rsa`), "secret");
});

Deno.test("a run's folder that became a link is removed", () => {
  using ground = new Ground();
  Deno.removeSync(ground.run);
  Deno.symlinkSync(ground.outside, ground.run);
  assertEquals(removeFolder(ground.run), undefined);
  assertEquals(Deno.readTextFileSync(`${ground.outside}/id_rsa`), "secret");
});

Deno.test("folders without permissions are removed", async () => {
  using ground = new Ground();
  const { run, outside } = ground;
  Deno.mkdirSync(`${run}/cache/inner`, { recursive: true });
  Deno.writeTextFileSync(`${run}/cache/inner/file`, "");
  Deno.symlinkSync(outside, `${run}/cache/link`);
  Deno.chmodSync(outside, 0o555);
  Deno.chmodSync(`${run}/cache/inner`, 0);
  Deno.chmodSync(`${run}/cache`, 0o555);
  if (OTHER_USER_LACK !== undefined) {
    assertEquals(removeFolder(run), undefined);
  } else {
    // Root may remove everything anyway; so another user has to.
    Deno.chmodSync(ground.path, 0o777);
    const module = new URL("../../../src/sandbox/remove_folder.ts", import.meta.url);
    const copy = `${ground.path}/remove_folder.ts`;
    Deno.copyFileSync(module, copy);
    const deno = `${ground.path}/deno`;
    Deno.copyFileSync(Deno.execPath(), deno);
    for (const path of [run, `${run}/cache`, `${run}/cache/inner`, `${run}/cache/inner/file`]) {
      Deno.chownSync(path, 65534, 65534);
    }
    const script = `import { removeFolder } from ${JSON.stringify(copy)};
      console.log(String(removeFolder(${JSON.stringify(run)})));`;
    Deno.writeTextFileSync(`${ground.path}/main.ts`, script);
    const args = ["run", "-A", "--quiet", "--no-config", "--no-lock", `${ground.path}/main.ts`];
    const env = ["env", `DENO_DIR=${ground.path}/cache`, "DENO_NO_UPDATE_CHECK=1", deno];
    assertEquals(await asAnotherUser([...env, ...args]), { code: 0, output: "undefined\n" });
  }
  assertEquals([...Deno.readDirSync(ground.path)].some(({ name }) => name === "run"), false);
  assertEquals((Deno.statSync(outside).mode ?? 0) & 0o777, 0o555);
  assertEquals(Deno.readTextFileSync(`${outside}/id_rsa`), "secret");
});

Deno.test("forwarding reads through no link", () => {
  using ground = new Ground();
  const { run, home, outside } = ground;
  Deno.mkdirSync(`${run}/projects/slug`, { recursive: true });
  Deno.symlinkSync(`${outside}/id_rsa`, `${run}/projects/slug/session.jsonl`);
  Deno.symlinkSync(outside, `${run}/projects/other`);
  makeFifo(`${run}/projects/slug/pipe.jsonl`);
  const skipped = ground.forward();
  assertEquals([skipped.files, skipped.left], [0, 0]);
  assertEquals(skipped.failures.toSorted(), [
    "Cannot move the transcript slug/pipe.jsonl: it is not a regular file",
    "Cannot move the transcript slug/session.jsonl: it is not a regular file",
  ]);
  assertEquals([...Deno.readDirSync(home)], []);
  Deno.removeSync(`${run}/projects`, { recursive: true });
  Deno.symlinkSync(outside, `${run}/projects`);
  const { files, left, failures: [failure] } = ground.forward();
  assertEquals([files, left], [0, 0]);
  assertStringIncludes(failure ?? "", "Cannot read the child's transcripts");
  assertEquals([...Deno.readDirSync(home)], []);
});

Deno.test("forwarding writes through no link", () => {
  using ground = new Ground();
  const { run, home, outside } = ground;
  Deno.mkdirSync(`${run}/projects/slug`, { recursive: true });
  Deno.mkdirSync(`${home}/projects/slug`, { recursive: true });
  Deno.writeTextFileSync(`${run}/projects/slug/session.jsonl`, "ours\n");
  const target = `${home}/projects/slug/session.jsonl`;
  for (const there of [`${outside}/id_rsa`, `${outside}/not-there`]) {
    Deno.symlinkSync(there, target);
    const { failures: [failure] } = ground.forward();
    assertStringIncludes(failure ?? "", "Cannot copy the transcript");
    assertEquals(Deno.readLinkSync(target), there);
    Deno.removeSync(target);
  }
  assertEquals([...Deno.readDirSync(outside)].map(({ name }) => name), ["id_rsa"]);
  assertEquals(Deno.readTextFileSync(`${outside}/id_rsa`), "secret");
});
