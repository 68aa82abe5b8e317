import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { fileAt } from "../../../ffi/files/at_path.ts";
import { sweep } from "../../../src/sandbox/folder/sweep.ts";
import { parentOf } from "../../../src/sandbox/paths.ts";
import { folderOfRuns, foldersOfRuns } from "../../../src/sandbox/places/folder_of_runs.ts";
import { CliError } from "../../../src/cli_error.ts";
import { Ground, type SandboxWish } from "../ground.ts";

const mode = (path: string) => ((Deno.lstatSync(path).mode ?? 0) & 0o777).toString(8);

Deno.test("Sandbox is private, and gone when disposed, twice too", () => {
  using ground = new Ground();
  const sandbox = ground.sandbox({ stdin: "prompt\n" });
  assertEquals(mode(sandbox.path), "700");
  assertEquals(mode(sandbox.configDir), "700");
  for (
    const file of [sandbox.settingsPath, `${sandbox.path}/own/hook`, sandbox.stdinPath as string]
  ) {
    assertEquals(mode(file), "600", file);
  }
  assert(Deno.statSync(sandbox.fifoPath).isFifo);
  assertEquals(Deno.readTextFileSync(sandbox.stdinPath as string), "prompt\n");
  sandbox[Symbol.dispose]();
  sandbox[Symbol.dispose]();
  assertEquals([...Deno.readDirSync(ground.tmp)], []);
});

Deno.test("Sandbox names its folder with the pid and start time of its owner", () => {
  using ground = new Ground();
  using sandbox = ground.sandbox();
  const [, pid, start] = /claude-print-\d+\/(\d+)-(\d+)-[0-9a-f]{8}$/u.exec(sandbox.path) ?? [];
  assertEquals(Number(pid), Deno.pid);
  const stat = Deno.readTextFileSync(`/proc/${Deno.pid}/stat`);
  assert(stat.split(" ").includes(start as string));
});

Deno.test("Sandbox is where tools cannot write, and keeps its place where they can", () => {
  using ground = new Ground();
  const runtime = `${ground.path}/runtime`;
  Deno.mkdirSync(runtime);
  const env = { TMPDIR: ground.tmp, XDG_RUNTIME_DIR: runtime };
  const [own, held] = [folderOfRuns(runtime), folderOfRuns(ground.tmp)];
  const sandbox = ground.sandbox({
    env,
    folders: [ground.tmp],
    writable: [ground.tmp, "/w"],
    footholds: [held],
  });
  assert(sandbox.path.startsWith(`${own}/`));
  // The Bash sandbox can close only what is there.
  const footholds = [...Deno.readDirSync(held)].map(({ name }) => `${held}/${name}`);
  assertEquals(footholds.map((path) => [...Deno.readDirSync(path)].length), [0]);
  sandbox[Symbol.dispose]();
  for (const place of [ground.tmp, runtime]) assertEquals([...Deno.readDirSync(place)], []);
});

Deno.test("Sandbox takes a random name where the usual one is taken", () => {
  using ground = new Ground();
  const runs = folderOfRuns(ground.tmp);
  Deno.symlinkSync(ground.user, runs);
  const env = { TMPDIR: ground.tmp };
  {
    using sandbox = ground.sandbox({ env });
    const folder = parentOf(sandbox.path);
    assertMatch(folder.slice(runs.length), /^-[0-9a-f]{8}$/u);
    assertEquals([folderOfRuns(ground.tmp), foldersOfRuns(ground.tmp)], [folder, [folder]]);
    // It is found, too, once the usual name is free again.
    Deno.removeSync(runs);
    assertEquals(foldersOfRuns(ground.tmp), [runs, folder]);
    const [swept] = sweep({ places: [ground.tmp], userConfigDir: ground.user });
    assertEquals([swept?.path, swept?.verdict], [sandbox.path, "live"]);
    Deno.symlinkSync(ground.user, runs);
  }
  assertEquals([...Deno.readDirSync(ground.user)], []);
  assertEquals([...Deno.readDirSync(ground.tmp)].length, 1);
  Deno.removeSync(runs);
  Deno.mkdirSync(runs, { mode: 0o755 });
  using sandbox = ground.sandbox({ env });
  assertEquals(mode(`${sandbox.path}/..`), "700");
});

Deno.test("Sandbox links what the user wrote for Claude, and nothing Claude writes", () => {
  using ground = new Ground();
  Deno.writeTextFileSync(`${ground.user}/CLAUDE.md`, "@more.md");
  Deno.writeTextFileSync(`${ground.user}/more.md`, "be brief");
  for (const name of ["agents", "skills", "projects", "sessions"]) {
    Deno.mkdirSync(`${ground.user}/${name}`);
  }
  Deno.writeTextFileSync(`${ground.user}/history.jsonl`, "{}");
  Deno.writeTextFileSync(`${ground.user}/.credentials.json`, "{}");
  using sandbox = ground.sandbox();
  const links = [...Deno.readDirSync(sandbox.configDir)].filter(({ isSymlink }) => isSymlink);
  assertEquals(links.map(({ name }) => name).sort(), ["CLAUDE.md", "agents", "more.md", "skills"]);
  assertEquals(Deno.readTextFileSync(`${sandbox.configDir}/more.md`), "be brief");
});

Deno.test("Sandbox has the caller's agents beside the user's", () => {
  using ground = new Ground();
  for (const name of ["agents", "plugins", "skills"]) Deno.mkdirSync(`${ground.user}/${name}`);
  Deno.writeTextFileSync(`${ground.user}/agents/0.md`, "user's");
  Deno.writeTextFileSync(`${ground.user}/CLAUDE.md`, "be brief");
  const filesIn = (dir: string) => [...Deno.readDirSync(dir)].map(({ name }) => name).toSorted();
  {
    using sandbox = ground.sandbox({ agents: ["one", "two"] });
    const agents = `${sandbox.configDir}/agents`;
    assertEquals(filesIn(agents), ["0.md", "1.md", "user"]);
    assertEquals([mode(agents), mode(`${agents}/1.md`)], ["700", "600"]);
    assertEquals(Deno.readTextFileSync(`${agents}/0.md`), "one");
    assertEquals(Deno.readTextFileSync(`${agents}/user/0.md`), "user's");
  }
  {
    using sandbox = ground.sandbox({ agents: ["one"], hidesUser: true });
    assertEquals(filesIn(`${sandbox.configDir}/agents`), ["0.md"]);
    const links = [...Deno.readDirSync(sandbox.configDir)].filter(({ isSymlink }) => isSymlink);
    assertEquals(links.map(({ name }) => name), ["plugins"]);
  }
  assertEquals(filesIn(`${ground.user}/agents`), ["0.md"]);
});

Deno.test("Sandbox has what files were before kept where the user has it, if it is kept at all", () => {
  using ground = new Ground();
  const isThere = (path: string) => fileAt(path) !== undefined;
  {
    using sandbox = ground.sandbox();
    const there = [sandbox.configDir, ground.user].map((dir) => isThere(`${dir}/file-history`));
    assertEquals(there, [false, false]);
  }
  {
    using sandbox = ground.sandbox({ keepsBackups: true });
    const folder = `${sandbox.configDir}/file-history`;
    Deno.mkdirSync(`${folder}/s1`);
    assertEquals(mode(`${ground.user}/file-history`), "700");
  }
  assertEquals(isThere(`${ground.user}/file-history/s1`), true);
});

Deno.test("Sandbox copies the session to resume, its folder too", () => {
  using ground = new Ground();
  const slug = `${ground.user}/projects/-w`;
  Deno.mkdirSync(`${slug}/s1/subagents`, { recursive: true });
  Deno.writeTextFileSync(`${slug}/s1.jsonl`, "line\n");
  Deno.writeTextFileSync(`${slug}/s1/subagents/a.jsonl`, "sub\n");
  Deno.writeTextFileSync(`${slug}/s2.jsonl`, "other\n");
  using sandbox = ground.sandbox({ resume: "s1" });
  assertEquals(Object.fromEntries(sandbox.resumed), {
    "-w/s1.jsonl": 5,
    "-w/s1/subagents/a.jsonl": 4,
  });
  const copied = [...Deno.readDirSync(`${sandbox.configDir}/projects/-w`)].map(({ name }) => name);
  assertEquals(copied.sort(), ["s1", "s1.jsonl"]);
});

Deno.test("Sandbox says that a session to resume is not there, and leaves nothing", () => {
  using ground = new Ground();
  assertThrows(
    () => ground.sandbox({ resume: "nope" }),
    CliError,
    "No conversation found with session ID: nope",
  );
  assertEquals([...Deno.readDirSync(ground.tmp)], []);
});

Deno.test("Sandbox refuses a session that a run has, until it is at home or the run is over", async () => {
  using ground = new Ground();
  const begin = (more: SandboxWish = {}) => ground.sandbox({ isNewSession: true, ...more });
  const adviceOn = (more: SandboxWish = {}) => {
    const error = assertThrows(() => begin(more), CliError);
    return `${error.message}. ${error.suggestion}`;
  };
  const inUse = "Error: Session ID s1 is already in use.";
  const first = begin();
  const wait = `Wait for the run that has it, process ${Deno.pid}`;
  assertEquals(adviceOn(), `${inUse}. ${wait}, or give another --session-id`);
  assertStringIncludes(
    adviceOn({ isNewSession: false, resume: "s1" }),
    `No conversation found with session ID: s1. ${wait}`,
  );
  const runtime = { TMPDIR: ground.tmp, XDG_RUNTIME_DIR: ground.user };
  assertStringIncludes(adviceOn({ env: runtime, writable: [ground.tmp] }), inUse);
  for (
    const more of [{ sessionId: "s2" }, { persistSession: false }, { userConfigDir: ground.tmp }]
  ) {
    begin(more)[Symbol.dispose]();
  }
  const other = begin({ sessionId: "s2" });

  // The first one ends, and its transcript cannot be brought home.
  Deno.mkdirSync(`${first.configDir}/projects/-w`, { recursive: true });
  Deno.writeTextFileSync(`${first.configDir}/projects/-w/s1.jsonl`, "line\n");
  await first.expectTranscripts();
  const kept = first.keep();
  assertEquals(kept.replace(/[0-9a-f]{8}$/u, ""), `${folderOfRuns(ground.tmp)}/0-0-`);
  const still = `Its transcript is still in ${kept}: bring it home with claude-print sweep`;
  assertEquals(adviceOn(), `${inUse}. ${still}, or give another --session-id`);
  Deno.removeSync(kept, { recursive: true });
  begin()[Symbol.dispose]();
  other[Symbol.dispose]();
  assertEquals([...Deno.readDirSync(ground.tmp)], []);
});

Deno.test("Sandbox says that TMPDIR cannot be used", () => {
  using ground = new Ground();
  const env = { TMPDIR: `${ground.path}/missing` };
  const error = assertThrows(() => ground.sandbox({ env }), CliError);
  assertEquals(error.message, `Cannot create a private folder in ${env.TMPDIR}: no such folder`);
  assertEquals(error.suggestion, "Set TMPDIR to a folder you can write to");
});

Deno.test("Sandbox begins a session with a transcript that is nowhere at home, and brings all of it there", async () => {
  using ground = new Ground();
  const begun = { path: "-w/s1.jsonl", text: "1\n2\n" };
  using sandbox = ground.sandbox({ resume: "s1", begun });
  assertEquals(Object.fromEntries(sandbox.resumed), { [begun.path]: 4 });
  await sandbox.expectTranscripts();
  const own = `${sandbox.configDir}/projects/${begun.path}`;
  assertEquals([Deno.readTextFileSync(own), mode(own)], [begun.text, "600"]);
  Deno.writeTextFileSync(own, "3\n", { append: true });
  assertEquals(sandbox.forward(), { files: 1, left: 0, failures: [] });
  assertEquals(Deno.readTextFileSync(`${ground.user}/projects/${begun.path}`), "1\n2\n3\n");
});

Deno.test("Sandbox brings nothing home before there is a child, and leaves its folder to a later sweep as one starts", async () => {
  using ground = new Ground();
  const begun = { path: "-w/s1.jsonl", text: "1\n" };
  using sandbox = ground.sandbox({ resume: "s1", begun });
  assertEquals(sandbox.forward(), { files: 0, left: 0, failures: [] });
  const loading = sandbox.expectTranscripts();
  const { left, failures } = sandbox.forward();
  assertEquals([left, failures.length, sandbox.bringHome()], [1, 1, false]);
  assertEquals(sandbox.keep(), sandbox.path);
  const own = `${sandbox.configDir}/projects/${begun.path}`;
  assertEquals(Deno.readTextFileSync(own), begun.text);
  assertEquals(fileAt(`${ground.user}/projects`), undefined);
  await loading;
  assertEquals(sandbox.forward(), { files: 1, left: 0, failures: [] });
});
