import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { Poller } from "../../../ffi/poll.ts";
import { type HookCall, HookSource } from "../../../src/driver/sources/hook_source.ts";
import { folderOfRuns } from "../../../src/sandbox/folder/folder_of_runs.ts";
import { Sandbox, type SandboxOptions } from "../../../src/sandbox/folder/sandbox.ts";
import { SandboxError } from "../../../src/sandbox/sandbox_error.ts";

/** A temp folder with a user's config dir, removed at the end of the test. */
class Ground implements Disposable {
  readonly path = Deno.realPathSync(Deno.makeTempDirSync());
  readonly user = `${this.path}/user`;
  readonly tmp: string;

  constructor(tmpName = "tmp") {
    this.tmp = `${this.path}/${tmpName}`;
    Deno.mkdirSync(this.user);
    Deno.mkdirSync(this.tmp);
  }

  options(more: Partial<SandboxOptions> = {}): SandboxOptions {
    return {
      env: { TMPDIR: this.tmp },
      userConfig: { dir: this.user, claudeJson: `${this.user}/.claude.json`, loginDir: this.user },
      userClaudeJson: undefined,
      userSettings: undefined,
      callerSettings: {},
      memoryPath: "/m/",
      folders: ["/w"],
      writable: ["/w"],
      hooks: ["Stop", "PermissionRequest"],
      mcpServers: 0,
      logged: false,
      sessionId: "s1",
      isNewSession: false,
      persistSession: true,
      ...more,
    };
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.path, { recursive: true });
  }
}

const mode = (path: string) => ((Deno.lstatSync(path).mode ?? 0) & 0o777).toString(8);
const isThere = (path: string) => {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
};
const readJson = (path: string) => JSON.parse(Deno.readTextFileSync(path));

Deno.test("Sandbox is private, and gone when disposed, twice too", () => {
  using ground = new Ground();
  const sandbox = new Sandbox(ground.options({ stdin: "prompt\n" }));
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
  using sandbox = new Sandbox(ground.options());
  const [, pid, start] = /claude-print-\d+\/(\d+)-(\d+)-[0-9a-f]{8}$/u.exec(sandbox.path) ?? [];
  assertEquals(Number(pid), Deno.pid);
  const stat = Deno.readTextFileSync(`/proc/${Deno.pid}/stat`);
  assert(stat.split(" ").includes(start as string));
});

Deno.test("Sandbox is where tools cannot write, and closes where they can to them", () => {
  using ground = new Ground();
  const runtime = `${ground.path}/runtime`;
  Deno.mkdirSync(runtime);
  const env = { TMPDIR: ground.tmp, XDG_RUNTIME_DIR: runtime };
  const sandbox = new Sandbox(
    ground.options({ env, folders: [ground.tmp], writable: [ground.tmp, "/w"] }),
  );
  const [own, held] = [folderOfRuns(runtime), folderOfRuns(ground.tmp)];
  assert(sandbox.path.startsWith(`${own}/`));
  const { permissions: { deny }, sandbox: { filesystem } } = readJson(sandbox.settingsPath);
  for (const tool of ["Edit", "Read"]) {
    assert(deny.includes(`${tool}(/${sandbox.path}/own/**)`));
    assert(deny.includes(`${tool}(/${held}/**)`));
    assert(!deny.includes(`${tool}(/${own}/**)`));
  }
  assertEquals(filesystem.denyWrite, [sandbox.configDir]);
  // The Bash sandbox can close only what is there.
  const footholds = [...Deno.readDirSync(held)].map(({ name }) => `${held}/${name}`);
  assertEquals(footholds.map((path) => [...Deno.readDirSync(path)].length), [0]);
  sandbox[Symbol.dispose]();
  for (const place of [ground.tmp, runtime]) assertEquals([...Deno.readDirSync(place)], []);
});

Deno.test("Sandbox closes no folder that it works in, as one that a run's tool starts may do", () => {
  using outer = new Ground();
  using run = new Sandbox(outer.options());
  const folder = `${run.tempDir}/work`;
  Deno.mkdirSync(folder);
  using ground = new Ground();
  const env = { TMPDIR: ground.tmp, XDG_RUNTIME_DIR: outer.tmp };
  using inner = new Sandbox(ground.options({ env, folders: [folder], writable: [folder] }));
  const { permissions: { deny } } = readJson(inner.settingsPath);
  assert(!JSON.stringify(deny).includes(outer.tmp));
});

Deno.test("Sandbox goes elsewhere where somebody else has taken the name of the folder of runs", () => {
  using ground = new Ground();
  const runtime = `${ground.path}/runtime`;
  Deno.mkdirSync(runtime);
  const runs = folderOfRuns(ground.tmp);
  Deno.symlinkSync(ground.user, runs);
  const env = { TMPDIR: ground.tmp, XDG_RUNTIME_DIR: runtime };
  {
    using sandbox = new Sandbox(ground.options({ env }));
    assert(sandbox.path.startsWith(`${folderOfRuns(runtime)}/`));
  }
  const error = assertThrows(
    () => new Sandbox(ground.options({ env, folders: ["/"], writable: ["/"] })),
    SandboxError,
  );
  assertEquals(error.message, `Cannot create a private folder: ${runs} belongs to somebody else`);
  assertEquals([...Deno.readDirSync(ground.user)], []);
  Deno.removeSync(runs);
  Deno.mkdirSync(runs, { mode: 0o755 });
  using sandbox = new Sandbox(ground.options({ env }));
  assertEquals(mode(`${sandbox.path}/..`), "700");
});

Deno.test("Sandbox keeps the user's settings but not the user's hooks", () => {
  using ground = new Ground();
  const userSettings = { model: "opus", hooks: { Stop: [] }, statusLine: {}, env: { A: "1" } };
  using sandbox = new Sandbox(ground.options({ userSettings }));
  assertEquals(readJson(`${sandbox.configDir}/settings.json`), { model: "opus", env: { A: "1" } });
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
  using sandbox = new Sandbox(ground.options());
  const links = [...Deno.readDirSync(sandbox.configDir)].filter(({ isSymlink }) => isSymlink);
  assertEquals(links.map(({ name }) => name).sort(), ["CLAUDE.md", "agents", "more.md", "skills"]);
  assertEquals(Deno.readTextFileSync(`${sandbox.configDir}/more.md`), "be brief");
});

Deno.test("Sandbox copies the session to resume, its folder too", () => {
  using ground = new Ground();
  const slug = `${ground.user}/projects/-w`;
  Deno.mkdirSync(`${slug}/s1/subagents`, { recursive: true });
  Deno.writeTextFileSync(`${slug}/s1.jsonl`, "line\n");
  Deno.writeTextFileSync(`${slug}/s1/subagents/a.jsonl`, "sub\n");
  Deno.writeTextFileSync(`${slug}/s2.jsonl`, "other\n");
  using sandbox = new Sandbox(ground.options({ resume: "s1" }));
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
    () => new Sandbox(ground.options({ resume: "nope" })),
    SandboxError,
    'Cannot resume the session "nope"',
  );
  assertEquals([...Deno.readDirSync(ground.tmp)], []);
});

Deno.test("Sandbox refuses a session that a run has, until it is at home or the run is over", () => {
  using ground = new Ground();
  const begin = (more: Partial<SandboxOptions> = {}) =>
    new Sandbox(ground.options({ isNewSession: true, ...more }));
  const adviceOn = (more: Partial<SandboxOptions> = {}) => {
    const error = assertThrows(() => begin(more), SandboxError);
    return `${error.message}. ${error.suggestion}`;
  };
  const inUse = "Cannot begin the session s1: its id is already in use";
  const first = begin();
  const wait = `Wait for the run that has it, process ${Deno.pid}`;
  assertEquals(adviceOn(), `${inUse}. ${wait}, or give another --session-id`);
  assertStringIncludes(
    adviceOn({ isNewSession: false, resume: "s1" }),
    `it has no transcript. ${wait}`,
  );
  const runtime = { TMPDIR: ground.tmp, XDG_RUNTIME_DIR: ground.user };
  assertStringIncludes(adviceOn({ env: runtime, writable: [ground.tmp] }), inUse);
  const userConfig = { ...ground.options().userConfig, dir: ground.tmp };
  for (const more of [{ sessionId: "s2" }, { persistSession: false }, { userConfig }]) {
    begin(more)[Symbol.dispose]();
  }
  const other = begin({ sessionId: "s2" });

  // The first one ends, and its transcript cannot be brought home.
  Deno.mkdirSync(`${first.configDir}/projects/-w`, { recursive: true });
  Deno.writeTextFileSync(`${first.configDir}/projects/-w/s1.jsonl`, "line\n");
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
  const error = assertThrows(() => new Sandbox(ground.options({ env })), SandboxError);
  assertEquals(error.message, `Cannot create a private folder in ${env.TMPDIR}: no such folder`);
  assertEquals(error.suggestion, "Set TMPDIR to a folder you can write to");
});

for (const tmpName of ["plain", "with space", "q'uo\"te $x `y` \\z", "ünï😀"]) {
  Deno.test(`the hook script works in a folder named ${JSON.stringify(tmpName)}`, async () => {
    using ground = new Ground(tmpName);
    using sandbox = new Sandbox(ground.options());
    const { hooks: registered } = readJson(sandbox.settingsPath);
    using hooks = new HookSource(sandbox);
    const payload = { hook_event_name: "Stop", text: "x".repeat(100_000) };
    const env = { PATH: "/usr/bin:/bin" };
    for (const event of ["Stop", "PermissionRequest"]) {
      const [{ hooks: [{ command }] }] = registered[event];
      const { printed, calls: [call] } = await callHook(["/bin/sh", "-c", command], {
        env,
        hooks,
        payload,
      });
      assertEquals(call?.payload, payload);
      assertEquals(printed, event === "Stop" ? "" : `{"to":"${call?.id}"}\n`);
    }
  });
}

Deno.test("the hook script needs no PATH, and runs no program of another one, in every shell", async () => {
  using ground = new Ground();
  const fakes = `${ground.path}/fakes`;
  Deno.mkdirSync(fakes);
  for (const name of ["cat", "mkfifo", "sh", "printf"]) {
    Deno.writeTextFileSync(`${fakes}/${name}`, `#!/bin/sh\n: > ${ground.path}/ran\n`);
    Deno.chmodSync(`${fakes}/${name}`, 0o755);
  }
  const shells = [["/bin/sh"], ["/bin/bash", "--posix"], ["/bin/busybox", "sh"]]
    .filter(([path = ""]) => isThere(path));
  for (const [shell = "", ...flags] of shells) {
    for (const PATH of [undefined, "", `${fakes}:/usr/bin`]) {
      using sandbox = new Sandbox(ground.options({ hooks: ["PermissionRequest", "Stop"] }));
      using hooks = new HookSource(sandbox);
      const call = (...mode: readonly string[]) =>
        callHook([shell, ...flags, `${sandbox.path}/own/hook`, ...mode], {
          env: PATH === undefined ? {} : { PATH },
          hooks,
          payload: { hook_event_name: "Stop" },
        });
      const says = `${shell} ${PATH}`;
      const told = await call();
      assertEquals([told.printed, told.calls.map(({ id }) => id)], ["", [undefined]], says);
      const { printed, calls: [asked] } = await call("asks");
      assertEquals([JSON.parse(printed), typeof asked?.id], [{ to: asked?.id }, "string"], says);
      assertEquals([...Deno.readDirSync(sandbox.payloadDir)], [], says);
    }
  }
  assert(!isThere(`${ground.path}/ran`));
});

/** Runs a hook, which is answered with its own id if it asks: what it prints, and how it was heard. */
async function callHook(
  [shell = "", ...args]: readonly string[],
  { env, hooks, payload }: {
    readonly env: Readonly<Record<string, string>>;
    readonly hooks: HookSource;
    readonly payload: unknown;
  },
): Promise<{ readonly printed: string; readonly calls: readonly HookCall[] }> {
  const child = new Deno.Command(shell, {
    args: [...args],
    clearEnv: true,
    env: { ...env },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(JSON.stringify(payload)));
  await writer.close();
  const ended = child.output();
  using poller = new Poller();
  const calls: HookCall[] = [];
  while (calls.length === 0) {
    await poller.wait([{ fd: hooks.fd, read: true }], -1);
    calls.push(...hooks.read());
    for (const { id } of calls) if (id !== undefined) hooks.answer(id, { to: id });
  }
  const { stdout, stderr } = await ended;
  const decoder = new TextDecoder();
  return { printed: decoder.decode(stdout) + decoder.decode(stderr), calls };
}
