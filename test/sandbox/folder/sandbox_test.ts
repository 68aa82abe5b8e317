import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { fileAt } from "../../../ffi/files/at_path.ts";
import { CliError } from "../../../src/cli_error.ts";
import { borrowFolder, sweep } from "../../../src/sandbox/folder/sweep.ts";
import { makeRunFolder, removeRunFolder } from "../../../src/sandbox/folder/run_folder.ts";
import { removeFolder } from "../../../src/sandbox/remove_folder.ts";
import { parentOf } from "../../../src/paths.ts";
import { folderOfRuns, foldersOfRuns } from "../../../src/sandbox/folder/run_places.ts";
import { tempFolder } from "../../temp_folder.ts";
import { Ground, type SandboxWish } from "../ground.ts";

const mode = (path: string) => ((Deno.lstatSync(path).mode ?? 0) & 0o777).toString(8);
const namesIn = (dir: string) => Array.from(Deno.readDirSync(dir), ({ name }) => name).toSorted();
const linksIn = (dir: string) =>
  [...Deno.readDirSync(dir)].flatMap(({ name, isSymlink }) => isSymlink ? name : []).toSorted();

Deno.test("Sandbox is private, and its folder disappears on dispose", () => {
  using ground = new Ground();
  const sandbox = ground.sandbox({ stdin: "prompt\n" });
  const [, pid, start] = /claude-print-\d+\/(\d+)-(\d+)-[0-9a-f]{8}$/u.exec(sandbox.path) ?? [];
  assertEquals(Number(pid), Deno.pid);
  assert(Deno.readTextFileSync("/proc/self/stat").split(" ").includes(`${start}`));
  assertEquals(mode(sandbox.path), "700");
  assertEquals(mode(sandbox.configDir), "700");
  const files = [sandbox.settingsPath, `${sandbox.path}/own/hook`, sandbox.stdinPath as string];
  for (const file of files) assertEquals(mode(file), "600", file);
  assert(Deno.statSync(sandbox.fifoPath).isFifo);
  assertEquals(Deno.readTextFileSync(sandbox.stdinPath as string), "prompt\n");
  sandbox[Symbol.dispose]();
  sandbox[Symbol.dispose]();
  assertEquals(namesIn(ground.tmp), []);
});

Deno.test("Sandbox is made where tools cannot write", () => {
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
  // The Bash sandbox can deny existing folders only.
  assertEquals(namesIn(held).map((name) => namesIn(`${held}/${name}`)), [[]]);
  sandbox[Symbol.dispose]();
  for (const place of [ground.tmp, runtime]) assertEquals(namesIn(place), []);
});

Deno.test("Sandbox takes a random name if the usual is taken", () => {
  using ground = new Ground();
  const runs = folderOfRuns(ground.tmp);
  Deno.symlinkSync(ground.user, runs);
  const env = { TMPDIR: ground.tmp };
  {
    using sandbox = ground.sandbox({ env });
    const folder = parentOf(sandbox.path);
    assertMatch(folder.slice(runs.length), /^-[0-9a-f]{8}$/u);
    assertEquals([folderOfRuns(ground.tmp), foldersOfRuns(ground.tmp)], [folder, [folder]]);
    // The folder is also found once the usual name is free again.
    Deno.removeSync(runs);
    assertEquals(foldersOfRuns(ground.tmp), [runs, folder]);
    const [swept] = sweep({ places: [ground.tmp], userConfigDir: ground.user });
    assertEquals([swept?.path, swept?.verdict], [sandbox.path, "live"]);
    Deno.symlinkSync(ground.user, runs);
  }
  assertEquals([namesIn(ground.user).length, namesIn(ground.tmp).length], [0, 1]);
  Deno.removeSync(runs);
  Deno.mkdirSync(runs, { mode: 0o755 });
  using sandbox = ground.sandbox({ env });
  assertEquals(mode(`${sandbox.path}/..`), "700");
});

Deno.test("Sandbox links the user's own files, not Claude Code's", () => {
  using ground = new Ground();
  Deno.writeTextFileSync(`${ground.user}/CLAUDE.md`, "@more.md");
  Deno.writeTextFileSync(`${ground.user}/more.md`, "be brief");
  for (const name of ["agents", "skills", "projects", "sessions"]) {
    Deno.mkdirSync(`${ground.user}/${name}`);
  }
  Deno.writeTextFileSync(`${ground.user}/history.jsonl`, "{}");
  Deno.writeTextFileSync(`${ground.user}/.credentials.json`, "{}");
  using sandbox = ground.sandbox();
  assertEquals(linksIn(sandbox.configDir), ["CLAUDE.md", "agents", "more.md", "skills"]);
  assertEquals(Deno.readTextFileSync(`${sandbox.configDir}/more.md`), "be brief");
});

Deno.test("Sandbox has the caller's agents and the user's", () => {
  using ground = new Ground();
  for (const name of ["agents", "plugins", "skills"]) Deno.mkdirSync(`${ground.user}/${name}`);
  Deno.writeTextFileSync(`${ground.user}/agents/0.md`, "user's");
  Deno.writeTextFileSync(`${ground.user}/CLAUDE.md`, "be brief");
  {
    using sandbox = ground.sandbox({ agents: ["one", "two"] });
    const agents = `${sandbox.configDir}/agents`;
    assertEquals(namesIn(agents), ["0.md", "1.md", "user"]);
    assertEquals([mode(agents), mode(`${agents}/1.md`)], ["700", "600"]);
    assertEquals(Deno.readTextFileSync(`${agents}/0.md`), "one");
    assertEquals(Deno.readTextFileSync(`${agents}/user/0.md`), "user's");
  }
  {
    using sandbox = ground.sandbox({ agents: ["one"], hidesUser: true });
    assertEquals(namesIn(`${sandbox.configDir}/agents`), ["0.md"]);
    assertEquals(linksIn(sandbox.configDir), ["plugins"]);
  }
  assertEquals(namesIn(`${ground.user}/agents`), ["0.md"]);
});

Deno.test("Sandbox keeps file backups in the user's folder on request", () => {
  using ground = new Ground();
  const isThere = (path: string) => fileAt(path) !== undefined;
  {
    using sandbox = ground.sandbox();
    for (const dir of [sandbox.configDir, ground.user]) {
      assertEquals(isThere(`${dir}/file-history`), false);
    }
  }
  {
    using sandbox = ground.sandbox({ keepsBackups: true });
    const folder = `${sandbox.configDir}/file-history`;
    Deno.mkdirSync(`${folder}/s1`);
    assertEquals(mode(`${ground.user}/file-history`), "700");
  }
  assertEquals(isThere(`${ground.user}/file-history/s1`), true);
});

Deno.test("Sandbox copies the session to resume with its folder", () => {
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
  assertEquals(namesIn(`${sandbox.configDir}/projects/-w`), ["s1", "s1.jsonl"]);
});

Deno.test("Sandbox that cannot be made says why and leaves nothing", () => {
  using ground = new Ground();
  const missing = assertThrows(() => ground.sandbox({ resume: "nope" }), CliError);
  assertEquals(missing.message, "No conversation found with session ID: nope");
  const TMPDIR = `${ground.path}/missing`;
  const error = assertThrows(() => ground.sandbox({ env: { TMPDIR } }), CliError);
  assertEquals(error.message, `Cannot create a private folder in ${TMPDIR}: no such folder`);
  assertEquals(error.suggestion, "Set TMPDIR to a folder you can write to");
  assertEquals(namesIn(ground.tmp), []);
});

Deno.test("Sandbox refuses a session that another run has", async () => {
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
  const others = [{ sessionId: "s2" }, { persistSession: false }, { userConfigDir: ground.tmp }];
  for (const more of others) begin(more)[Symbol.dispose]();
  const other = begin({ sessionId: "s2" });

  // The first run ends, and its transcript cannot be brought home.
  Deno.mkdirSync(`${first.configDir}/projects/-w`, { recursive: true });
  Deno.writeTextFileSync(`${first.configDir}/projects/-w/s1.jsonl`, "line\n");
  await first.expectTranscripts();
  const kept = first.keep();
  assertEquals(kept.replace(/[0-9a-f]{8}$/u, ""), `${folderOfRuns(ground.tmp)}/0-0-`);
  const still = `Its transcript is still in ${kept}: move it with claude-print sweep`;
  assertEquals(adviceOn(), `${inUse}. ${still}, or give another --session-id`);
  Deno.removeSync(kept, { recursive: true });
  begin()[Symbol.dispose]();
  other[Symbol.dispose]();
  assertEquals(namesIn(ground.tmp), []);
});

Deno.test("Sandbox begins a session with a transcript and forwards it", async () => {
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

Deno.test("Sandbox keeps a transcript until its code is loaded", async () => {
  using ground = new Ground();
  const begun = { path: "-w/s1.jsonl", text: "1\n" };
  using sandbox = ground.sandbox({ resume: "s1", begun });
  assertEquals(sandbox.forward(), { files: 0, left: 0, failures: [] });
  const loading = sandbox.expectTranscripts();
  const { left, failures } = sandbox.forward();
  assertEquals([left, failures.length, sandbox.forwardAndRelease()], [1, 1, false]);
  assertEquals(sandbox.keep(), sandbox.path);
  const own = `${sandbox.configDir}/projects/${begun.path}`;
  assertEquals(Deno.readTextFileSync(own), begun.text);
  assertEquals(fileAt(`${ground.user}/projects`), undefined);
  await loading;
  assertEquals(sandbox.forward(), { files: 1, left: 0, failures: [] });
});

/** The error for a place of runs, if it is refused. */
function refusalOf(place: string): string | undefined {
  try {
    removeRunFolder(makeRunFolder({ places: [place], folders: [], writable: [] }));
    return undefined;
  } catch (error) {
    if (error instanceof CliError) return error.message;
    throw error;
  }
}

Deno.test("a run's folder is refused where others can replace it", () => {
  using folder = tempFolder();
  const root = folder.path;
  Deno.chmodSync(root, 0o755);
  const cases: readonly (readonly [modes: readonly number[], depth: number | undefined])[] = [
    [[0o1777], undefined],
    [[0o777], 0],
    [[0o777, 0o700], 0],
    [[0o1777, 0o777], 1],
    [[0o700, 0o777], undefined],
    [[0o775], undefined],
    [[0o755, 0o1777, 0o700], undefined],
  ];
  for (const [index, [modes, depth]] of cases.entries()) {
    const folders = modes.map((_, at) =>
      `${root}/${[index, ...modes.keys()].slice(0, at + 2).join("/")}`
    );
    Deno.mkdirSync(`${root}/${index}`);
    for (const [at, folder] of folders.entries()) {
      Deno.mkdirSync(folder);
      Deno.chmodSync(folder, modes[at] ?? 0);
    }
    const place = folders.at(-1) ?? "";
    const expected = depth === undefined
      ? undefined
      : `Cannot create a private folder in ${place}: every user can rename what is in ${
        folders[depth]
      }`;
    assertEquals(refusalOf(place), expected, modes.map((mode) => mode.toString(8)).join("/"));
  }
});

Deno.test("empty folders of Claude Code disappear with the last run", () => {
  using folder = tempFolder();
  const tmp = folder.path;
  for (const litter of [`${tmp}/claude-${Deno.uid()}`, `${tmp}/cc-socks`]) {
    const options = { places: [tmp], runtimeDir: tmp, folders: [], writable: [] } as const;
    const make = () => makeRunFolder(options);
    const first = make();
    Deno.mkdirSync(litter);
    const second = make();
    removeRunFolder(first);
    Deno.mkdirSync(litter);
    removeRunFolder(second);
    assertEquals(namesIn(tmp), []);
    Deno.mkdirSync(litter);
    removeRunFolder(make());
    assertEquals(namesIn(tmp).length, 1, "made before any run");
    Deno.removeSync(litter);
  }
});

Deno.test("borrowFolder() makes a folder that a sweep respects", () => {
  using ground = new Ground();
  const { tmp } = ground;
  const env = { HOME: `${tmp}/home`, PATH: "/usr/bin" };
  {
    using borrowed = borrowFolder({ ...env, TMPDIR: tmp });
    Deno.mkdirSync(`${borrowed.path}/0/project`, { recursive: true });
    const swept = sweep({ places: [tmp], userConfigDir: `${tmp}/home/.claude` });
    assertEquals(swept.map(({ path, verdict }) => [path, verdict]), [[borrowed.path, "live"]]);
  }
  assertEquals(namesIn(tmp), []);
  {
    using borrowed = borrowFolder({ ...env, TMPDIR: `${tmp}/none` }, { place: tmp });
    assert(borrowed.path.startsWith(`${tmp}/`));
  }
  assertEquals(namesIn(tmp), []);
  const TMPDIR = `${tmp}/none`;
  const { message, suggestion } = assertThrows(() => borrowFolder({ ...env, TMPDIR }), CliError);
  assertStringIncludes(message, `Cannot create a private folder in ${TMPDIR}: `);
  assertEquals(suggestion, "Set TMPDIR to a folder you can write to");
});

Deno.test("removeFolder() removes everything, and retries a folder that refills", () => {
  using ground = new Ground();
  Deno.mkdirSync(`${ground.tmp}/a/b`, { recursive: true });
  Deno.writeTextFileSync(`${ground.tmp}/a/b/c`, "");
  for (let time = 0; time < 2; time++) assertEquals(removeFolder(`${ground.tmp}/a`), undefined);
  assertEquals(namesIn(ground.tmp), []);
  let tries = 0;
  const refilled = () => {
    if (++tries < 3) throw new Error("Directory not empty (os error 39)");
  };
  assertEquals([removeFolder("/x", refilled), tries], [undefined, 3]);
  const denied = () => {
    throw new Deno.errors.PermissionDenied("Operation not permitted (os error 1)");
  };
  assertEquals(removeFolder("/x", denied)?.message, "Operation not permitted (os error 1)");
});
