import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { CLAUDE_PRINT } from "../../claude_print.ts";
import { leftovers } from "../../leftovers.ts";
import { serve } from "../../serve/runs/served.ts";
import { startProgram } from "../../start_program.ts";
import { StandIn } from "../stand_in.ts";

/** What a call of a program came to. */
interface Call {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The stand-in on PATH as the real claude, and a folder before it for the shim. */
async function ground() {
  const claude = await StandIn.set({ turns: [[{ text: "You said: {prompt}" }]] });
  const { path, project, env: given } = claude.home;
  const dir = `${path}/shim`;
  const env = { ...given, PATH: `${dir}:${path}:${given["PATH"]}` };
  const run = (command: readonly string[], options: { stdin?: string; env?: Env } = {}) =>
    startProgram(command, {
      stdin: options.stdin,
      env: { ...env, ...options.env },
      cwd: project,
    }).ended;
  return {
    claude,
    dir,
    shim: (...args: readonly string[]): Promise<Call> => run([...CLAUDE_PRINT, "shim", ...args]),
    shimWith: (with_: Env, ...args: readonly string[]): Promise<Call> =>
      run([...CLAUDE_PRINT, "shim", ...args], { env: with_ }),
    run,
    /** Calls what `claude` means now. */
    call: (args: readonly string[], options?: { stdin?: string; env?: Env }): Promise<Call> =>
      run(["/usr/bin/env", "claude", ...args], options),
    [Symbol.asyncDispose]: () => claude[Symbol.asyncDispose](),
  };
}

type Env = Readonly<Record<string, string>>;

Deno.test("shim install sends claude -p through claude-print, remove ends that", async () => {
  await using here = await ground();
  const installed = await here.shim("install", here.dir);
  assertEquals(installed, { code: 0, stdout: `Installed ${here.dir}/claude\n`, stderr: "" });
  assertEquals((Deno.statSync(`${here.dir}/claude`).mode ?? 0) & 0o777, 0o755);
  assertEquals((await here.shim("status")).code, 0);

  const args = ["-p", "--output-format", "json", "hello"];
  const { code, stdout, stderr } = await here.call(args, { stdin: "from stdin" });
  assertEquals([code, stderr], [0, ""]);
  const { result, claude_version } = JSON.parse(stdout);
  assertEquals([result, claude_version], ["You said: hello\nfrom stdin", "2.1.332"]);
  assertEquals(await leftovers(here.claude.home), []);

  const removed = await here.shim("remove", here.dir);
  assertEquals(removed, { code: 0, stdout: `Removed ${here.dir}/claude\n`, stderr: "" });
  assertEquals([...Deno.readDirSync(here.dir)], []);
  const status = await here.shim("status");
  assertEquals([status.code, status.stderr], [2, ""]);
  assertStringIncludes(status.stdout, "There is no shim on PATH");
});

Deno.test("the shim hands what does not print to the real claude, without claude-print", async () => {
  await using here = await ground();
  await here.shim("install", here.dir);
  const { code, stdout } = await here.call(["--version"]);
  assertEquals([code, stdout], [0, "2.1.332 (Claude Code)\n"]);
  const off = await here.call(["-v"], { env: { CLAUDE_PRINT_SHIM: "off" } });
  assertEquals(off.stdout, "2.1.332 (Claude Code)\n");
});

Deno.test("claude-print beside the shim on PATH drives the real claude", async () => {
  await using here = await ground();
  await here.shim("install", here.dir);
  const { env, project } = here.claude.home;
  const { code, stdout } = await startProgram([...CLAUDE_PRINT, "-p", "hello"], {
    env: { ...env, PATH: `${here.dir}:${here.claude.home.path}:${env["PATH"]}` },
    cwd: project,
  }).ended;
  assertEquals([code, stdout], [0, "You said: hello\n"]);
});

Deno.test("what claude-print refuses, the shim's real claude does, with a warning", async () => {
  await using here = await ground();
  await using server = await serve();
  await here.shim("install", here.dir);
  const teller = '#!/bin/sh\n[ "$1" != --version ] || { echo "2.1.332 (Claude Code)"; exit; }\n' +
    'printf "%s|" "$@"; cat; exit 7\n';
  await Deno.writeTextFile(here.claude.binary, teller);
  for (
    const [args, reason] of [
      [["-p", "--tmux", "hello"], "Cannot honour --tmux: .*"],
      [
        ["-p", "--flag-of-tomorrow"],
        "Cannot read the command line: unknown flag --flag-of-tomorrow",
      ],
      [["-p", "--safe-mode", "--max-turns", "2", "hello"], "Cannot honour --safe-mode .*"],
      [["-p", "--safe-mode", "--max-turns", "2"], "Cannot honour --safe-mode .*"],
      [["-p", "/insights"], 'Cannot send "/insights".*'],
      [
        ["--bare", "--input-format=stream-json", "--output-format=stream-json", "--verbose"],
        "Cannot honour --bare with a conversation: .*",
      ],
    ] as const
  ) {
    for (const env of [{}, server.env]) {
      const { code, stdout, stderr } = await here.call(args, { stdin: "from stdin", env });
      assertEquals([code, stdout], [7, [...args, "from stdin"].join("|")]);
      assertMatch(
        stderr,
        new RegExp(`^claude-print: Warning: ${reason}; handed on to ${here.claude.binary}\n$`, "u"),
      );
    }
  }
  assertEquals(await leftovers(here.claude.home), []);
});

Deno.test("a claude behind the shim that is too old is refused", async () => {
  await using here = await ground();
  await here.shim("install", here.dir);
  await Deno.writeTextFile(here.claude.binary, "#!/bin/sh\necho '2.1.197 (Claude Code)'\n");
  for (const args of [["-p", "hello"], ["-p", "--safe-mode", "--max-turns", "2", "hello"]]) {
    const { code, stdout, stderr } = await here.call(args);
    assertEquals([code, stdout], [2, ""]);
    assertMatch(stderr, /^claude-print: Claude Code 2\.1\.197 is too old: /u);
  }
});

Deno.test("the shim's real claude finds a credential on its descriptor", async () => {
  await using here = await ground();
  await here.shim("install", here.dir);
  await Deno.writeTextFile(here.claude.binary, '#!/bin/sh\n[ "$1" = --version ] || cat <&5\n');
  const { stdout } = await here.run([
    ...["/bin/sh", "-c", 'exec 5<<END\nsecret\nEND\nexec "$@"', "sh"],
    ...["claude", "-p", "--safe-mode", "--max-turns", "2", "hello"],
  ], { env: { CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR: "5" } });
  assertEquals(stdout, "secret");
});

Deno.test("a mistake on the command line stays one behind the shim", async () => {
  await using here = await ground();
  await here.shim("install", here.dir);
  const { code, stderr } = await here.call(["-p", "--timeout", "soon", "hello"]);
  assertEquals(code, 2);
  assertMatch(
    stderr,
    /^claude-print: Cannot read the command line: --timeout does not take "soon"/u,
  );
});

Deno.test("shim install and remove leave what is no shim alone", async () => {
  await using here = await ground();
  const { path } = here.claude.home;
  const before = await Deno.readTextFile(here.claude.binary);
  for (const action of ["install", "remove"]) {
    const { code, stderr } = await here.shim(action, path);
    assertEquals(code, 2);
    assertStringIncludes(stderr, `Cannot ${action} the shim: "${path}/claude"`);
  }
  assertEquals(await Deno.readTextFile(here.claude.binary), before);
  const gone = await here.shim("remove", `${path}/nowhere`);
  assertEquals(gone.code, 2);
  assertStringIncludes(gone.stderr, `there is no "${path}/nowhere/claude"`);
});

Deno.test("shim status says what keeps the shim from its work, and what to type", async () => {
  await using here = await ground();
  const { path, env } = here.claude.home;
  await here.shim("install", here.dir);
  const state = async (more: Env, ...args: readonly string[]) => {
    const { code, stdout } = await here.shimWith(more, "status", ...args);
    return [code, stdout.trimEnd().split("\n").at(-1)] as const;
  };
  assertEquals(await state({}), [0, "state   on: claude -p goes through claude-print"]);
  assertEquals(await state({ CLAUDE_PRINT_SHIM: "off" }), [
    2,
    "state   off: CLAUDE_PRINT_SHIM=off is in the environment",
  ]);
  const first = `put it first: export PATH="${here.dir}:$PATH"`;
  assertEquals(await state({ PATH: `${path}:${here.dir}:${env["PATH"]}` }), [
    2,
    `state   off: ${here.dir} is behind ${path} on PATH; ${first}`,
  ]);
  assertEquals(await state({ PATH: `${path}:${env["PATH"]}` }, here.dir), [
    2,
    `state   off: ${here.dir} is not on PATH; ${first}`,
  ]);
  const script = await Deno.readTextFile(`${here.dir}/claude`);
  await Deno.writeTextFile(`${here.dir}/claude`, `${script}# older\n`);
  assertEquals(await state({}), [
    2,
    `state   outdated: another claude-print made it; claude-print shim install ${here.dir}`,
  ]);
  assertEquals((await here.shim("install", here.dir)).code, 0, "a second install is an upgrade");
  assertEquals((await state({}))[0], 0);
});

Deno.test("shim install says how to put its folder on PATH", async () => {
  await using here = await ground();
  const { code, stdout } = await here.shim("install", `${here.claude.home.path}/else/where`);
  assertEquals(code, 0);
  assertStringIncludes(stdout, "is not on PATH; put it first: export PATH=");
});
