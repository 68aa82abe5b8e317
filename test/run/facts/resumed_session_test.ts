import { assertEquals } from "@std/assert";
import { utimesSync } from "node:fs";
import { makeFifo } from "../../../ffi/descriptors/pipe.ts";
import { findSessions } from "../../../src/run/facts/resumed_session.ts";
import type { Resumption } from "../../../src/cli/arguments/run_request.ts";
import { projectSlug } from "../../../src/claude/transcript/session_files.ts";
import { tempFolder } from "../../temp_folder.ts";

const id = (digit: number) => `${digit}1111111-1111-4111-8111-111111111111`;
const [FIRST, SECOND, THIRD] = [id(1), id(2), id(3)];

const line = (more: Readonly<Record<string, unknown>> = {}) =>
  `${JSON.stringify({ type: "user", uuid: "u", ...more })}\n`;
const title = (customTitle: string) => `${JSON.stringify({ type: "custom-title", customTitle })}\n`;

/** A config dir and a folder to work in, removed at the end of the test. Each transcript is newer than those before. */
class Ground implements Disposable {
  readonly #folder = tempFolder({ "work/": "" });
  readonly path = this.#folder.path;
  readonly cwd = `${this.path}/work`;
  #seconds = 1_700_000_000;

  /** Writes a transcript and gives its path below `projects/`. */
  write(session: string, { text = line(), cwd = this.cwd } = {}): string {
    const path = this.place(session, { cwd });
    Deno.writeTextFileSync(path, text);
    this.#seconds += 1;
    utimesSync(path, this.#seconds, this.#seconds);
    return path.slice(`${this.path}/projects/`.length);
  }

  place(session: string, { cwd = this.cwd } = {}): string {
    const folder = `${this.path}/projects/${projectSlug(cwd)}`;
    Deno.mkdirSync(folder, { recursive: true });
    return `${folder}/${session}.jsonl`;
  }

  remove(session: string): void {
    Deno.removeSync(this.place(session));
  }

  find(resumption: Resumption, { cwd = this.cwd } = {}) {
    return findSessions(resumption, { configDir: this.path, cwd });
  }

  latest(): string | undefined {
    return this.find({ latest: true }).latest;
  }

  named(name: string, { cwd = this.cwd } = {}): readonly string[] | undefined {
    return this.find({ latest: false, named: name }, { cwd }).named;
  }

  [Symbol.dispose](): void {
    this.#folder[Symbol.dispose]();
  }
}

Deno.test("the latest session is the folder's last written", () => {
  using ground = new Ground();
  assertEquals(ground.latest(), undefined, "no session at all");
  ground.write(FIRST, { text: line({ entrypoint: "cli", timestamp: "2030-01-01T00:00:00Z" }) });
  ground.write(SECOND, {
    text: line({ entrypoint: "sdk-cli", timestamp: "2020-01-01T00:00:00Z" }),
  });
  for (const cwd of [`${ground.cwd}/inner`, ground.path]) ground.write(THIRD, { cwd });
  assertEquals(ground.latest(), SECOND);
  ground.write(FIRST);
  assertEquals(ground.latest(), FIRST);
  ground.write(THIRD.toUpperCase());
  assertEquals(ground.latest(), THIRD.toUpperCase());
});

Deno.test("the latest session is a file of a main agent", () => {
  using ground = new Ground();
  ground.write(FIRST);
  ground.write(SECOND, { text: line({ isSidechain: true }) });
  ground.write(THIRD, { text: line({ sessionKind: "daemon" }) });
  ground.write("agent-12345678");
  makeFifo(ground.place(id(4)));
  Deno.mkdirSync(ground.place(id(5)));
  Deno.symlinkSync("/dev/zero", ground.place(id(6)));
  Deno.symlinkSync(ground.place(FIRST), ground.place(id(7)));
  assertEquals(ground.latest(), FIRST);
});

Deno.test("the latest session may be of the background, not empty", () => {
  using ground = new Ground();
  ground.write(FIRST);
  ground.write(SECOND, { text: title("t") });
  assertEquals(ground.latest(), FIRST);
  ground.write(THIRD, { text: line({ sessionKind: "bg" }) });
  assertEquals(ground.latest(), THIRD);
  ground.write(SECOND, { text: "" });
  assertEquals(ground.latest(), undefined);
});

Deno.test("the latest session is not at work in the background", () => {
  using ground = new Ground();
  for (const session of [FIRST, SECOND]) {
    ground.write(session, { text: line({ sessionKind: "bg" }) });
  }
  const folder = `${ground.path}/sessions`;
  Deno.mkdirSync(folder);
  const record = (name: string, more: Readonly<Record<string, unknown>>) =>
    Deno.writeTextFileSync(
      `${folder}/${name}.json`,
      JSON.stringify({ pid: Deno.pid, sessionId: SECOND, kind: "bg", ...more }),
    );
  makeFifo(`${folder}/1.json`);
  Deno.writeTextFileSync(`${folder}/2.json`, "half");
  record("3", { kind: "interactive" });
  // No process has this pid.
  record("4", { pid: 2 ** 22 + 1 });
  record("other", {});
  assertEquals(ground.latest(), SECOND);
  record(String(Deno.pid), {});
  assertEquals(ground.latest(), FIRST);
});

Deno.test("a name is an id, or the title of sessions", () => {
  using ground = new Ground();
  assertEquals(ground.find({ latest: false }), {});
  assertEquals(ground.named(FIRST), [FIRST]);
  ground.write(FIRST, { text: line() + title("Old") + title("The title") });
  assertEquals(ground.named("the TITLE"), [FIRST]);
  assertEquals(ground.named("old"), []);
  // The middle of a long transcript is not searched.
  const long = line({ pad: "x".repeat(70_000) });
  ground.write(SECOND, {
    text: line() + title("Old") + long + title("Else") + long + title("The title"),
  });
  assertEquals(ground.named("the title"), [SECOND, FIRST]);
  ground.write(SECOND, { text: line({ isSidechain: true }) + title("The title") });
  assertEquals(ground.named("the title"), [FIRST]);
  ground.write(THIRD, { text: line() + title("Else"), cwd: `${ground.path}/other` });
  assertEquals(ground.named("else"), []);
});

Deno.test("titles are found in all worktrees of a repository", () => {
  using ground = new Ground();
  const { cwd, path } = ground;
  const own = `${cwd}/.git/worktrees/tree`;
  Deno.mkdirSync(own, { recursive: true });
  Deno.writeTextFileSync(`${own}/gitdir`, `${path}/tree/.git\n`);
  ground.write(FIRST, { text: line() + title("there"), cwd: `${path}/tree/inner` });
  ground.write(SECOND, { text: line() + title("elsewhere"), cwd: `${path}/else` });
  assertEquals(ground.named("there"), [FIRST]);
  assertEquals(ground.named("elsewhere"), []);
  assertEquals(ground.latest(), undefined);
});

Deno.test("a partly resumed transcript is read; the latest wins", () => {
  using ground = new Ground();
  const path = ground.write(FIRST, { text: line() });
  const part = { latest: false, named: FIRST, upTo: "m" };
  assertEquals(ground.find(part), { named: [FIRST], transcript: { path, text: line() } });
  assertEquals(ground.find({ ...part, named: SECOND }), { named: [SECOND] });
  const other = ground.write(SECOND, { text: line(), cwd: ground.path });
  assertEquals(ground.find({ ...part, named: SECOND }).transcript?.path, other);
  assertEquals(ground.find({ ...part, latest: true, named: SECOND }), { latest: FIRST });
  ground.remove(FIRST);
  assertEquals(ground.find({ latest: true, named: SECOND }), { named: [SECOND] });
});
