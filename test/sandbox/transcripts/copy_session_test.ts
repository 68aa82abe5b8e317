import { assertEquals } from "@std/assert";
import { copySession } from "../../../src/sandbox/transcripts/copy_session.ts";
import { forwardTranscripts } from "../../../src/sandbox/transcripts/forward_transcripts.ts";

const ID = "123e4567-e89b-42d3-a456-426614174000";
const PATH = `-w/${ID}.jsonl`;

/** Two config dirs, the user's with a session and a file of a subagent's, removed at the end of the test. */
class Ground implements Disposable {
  readonly path = Deno.makeTempDirSync();
  readonly home = `${this.path}/home`;
  readonly run = `${this.path}/run`;

  constructor() {
    for (const slug of ["-w", "-old"]) {
      Deno.mkdirSync(`${this.home}/projects/${slug}/${ID}`, { recursive: true });
      Deno.writeTextFileSync(`${this.home}/projects/${slug}/${ID}.jsonl`, "1\n2\n3\n");
    }
    Deno.writeTextFileSync(`${this.home}/projects/-w/${ID}/agent.jsonl`, "a\n");
  }

  read(dir: "home" | "run", path = PATH): string {
    return Deno.readTextFileSync(`${this[dir]}/projects/${path}`);
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.path, { recursive: true });
  }
}

Deno.test("copySession() copies a session from wherever it is", () => {
  using ground = new Ground();
  const copied = copySession(ID, { from: ground.home, to: ground.run });
  assertEquals(Object.fromEntries(copied), {
    [PATH]: 6,
    [`-old/${ID}.jsonl`]: 6,
    [`-w/${ID}/agent.jsonl`]: 2,
  });
  assertEquals(copySession("none", { from: ground.home, to: ground.run }).size, 0);
});

Deno.test("copySession() copies what is larger than a piece, by the user's link too, whole", () => {
  using ground = new Ground();
  const text = "0123456789\n".repeat(210_000);
  const place = `${ground.path}/elsewhere.jsonl`;
  Deno.writeTextFileSync(place, text);
  Deno.removeSync(`${ground.home}/projects/${PATH}`);
  Deno.symlinkSync(place, `${ground.home}/projects/${PATH}`);
  const copied = copySession(ID, { from: ground.home, to: ground.run });
  assertEquals(copied.get(PATH), text.length);
  assertEquals(ground.read("run"), text);
});

Deno.test("a session that was copied in part loses nothing at home", () => {
  using ground = new Ground();
  const { home, run } = ground;
  const shortened = { path: PATH, text: "1\n3\n" };
  const copied = copySession(ID, { from: home, to: run, shortened });
  assertEquals(Object.fromEntries(copied), { [PATH]: 4, [`-w/${ID}/agent.jsonl`]: 2 });
  assertEquals(ground.read("run"), "1\n3\n");
  assertEquals((Deno.statSync(`${run}/projects/${PATH}`).mode ?? 0) & 0o777, 0o600);

  const resumed = Object.fromEntries(copied);
  const bring = () => forwardTranscripts({ from: run, to: home, resumed });
  const append = (text: string) =>
    Deno.writeTextFileSync(`${run}/projects/${PATH}`, text, { append: true });
  // Nothing was said.
  assertEquals(bring(), { files: 0, left: 0, failures: [] });
  assertEquals(ground.read("home"), "1\n2\n3\n");
  // What is new stands behind all there is, once, whoever brings it.
  Deno.writeTextFileSync(`${run}/projects/${PATH}`, "1\n3\n");
  append("4\n5\n");
  Deno.writeTextFileSync(`${home}/projects/${PATH}`, "4\n", { append: true });
  assertEquals(bring(), { files: 1, left: 0, failures: [] });
  assertEquals(ground.read("home"), "1\n2\n3\n4\n5\n");
  Deno.writeTextFileSync(`${run}/projects/${PATH}`, "1\n3\n4\n5\n");
  assertEquals(bring(), { files: 0, left: 0, failures: [] });
  assertEquals(ground.read("home"), "1\n2\n3\n4\n5\n");
});
