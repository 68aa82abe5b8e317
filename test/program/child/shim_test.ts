import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { CLAUDE_PRINT } from "../../claude_print.ts";
import { leftovers } from "../../leftovers.ts";
import { serve } from "../server/delegation/served.ts";
import { type ProgramOutput, startProgram } from "../../start_program.ts";
import { StandIn } from "../stand_in.ts";

type Env = Readonly<Record<string, string>>;

/** The stand-in on PATH as the real claude, and a folder before it for the shim. */
async function machine() {
  const claude = await StandIn.set({ turns: [[{ text: "You said: {prompt}" }]] });
  const { path, project, env: home } = claude.home;
  const dir = `${path}/shim`;
  const run = (command: readonly string[], options: { stdin?: string; env?: Env } = {}) =>
    startProgram(command, {
      stdin: options.stdin,
      env: { ...home, PATH: `${dir}:${path}:${home["PATH"]}`, ...options.env },
      cwd: project,
    }).ended;
  return {
    ...{ claude, dir, run },
    shim: (args: readonly string[], env: Env = {}): Promise<ProgramOutput> =>
      run([...CLAUDE_PRINT, "shim", ...args], { env }),
    /** Runs `claude` from PATH. */
    call: (args: readonly string[], options?: { stdin?: string; env?: Env }) =>
      run(["/usr/bin/env", "claude", ...args], options),
    [Symbol.asyncDispose]: () => claude[Symbol.asyncDispose](),
  };
}

Deno.test("shim install sends claude -p through claude-print until remove", async () => {
  await using here = await machine();
  const installed = await here.shim(["install", here.dir]);
  assertEquals(installed, { code: 0, stdout: `Installed ${here.dir}/claude\n`, stderr: "" });
  assertEquals((Deno.statSync(`${here.dir}/claude`).mode ?? 0) & 0o777, 0o755);
  assertEquals((await here.shim(["status"])).code, 0);
  const args = ["-p", "--output-format", "json", "hello"];
  const { code, stdout, stderr } = await here.call(args, { stdin: "from stdin" });
  assertEquals([code, stderr], [0, ""]);
  const { result, claude_version } = JSON.parse(stdout);
  assertEquals([result, claude_version], ["You said: hello\nfrom stdin", "2.1.332"]);
  const bad = await here.call(["-p", "--timeout", "soon", "hello"]);
  assertEquals(bad.code, 2);
  assertStringIncludes(
    bad.stderr,
    "claude-print: --timeout does not",
  );
  const direct = await here.run([...CLAUDE_PRINT, "-p", "hello"]);
  assertEquals([direct.code, direct.stdout], [0, "You said: hello\n"]);
  assertEquals(await leftovers(here.claude.home), []);
  const removed = await here.shim(["remove", here.dir]);
  assertEquals(removed, { code: 0, stdout: `Removed ${here.dir}/claude\n`, stderr: "" });
  assertEquals([...Deno.readDirSync(here.dir)], []);
  const status = await here.shim(["status"]);
  assertEquals([status.code, status.stderr], [2, ""]);
  assertStringIncludes(status.stdout, "There is no shim on PATH");
});

/** Calls that claude-print does not carry out, and its warning. */
const HANDED_ON: readonly (readonly [readonly string[], string])[] = [
  [["-p", "--tmux", "hello"], "Cannot honour --tmux: .*"],
  [["-p", "--flag-of-tomorrow"], "unknown flag --flag-of-tomorrow"],
  [["-p", "--safe-mode", "--max-turns", "2"], "Cannot honour --safe-mode .*"],
  [["-p", "/insights"], 'Cannot send "/insights".*'],
  [
    ["--bare", "--input-format=stream-json", "--output-format=stream-json", "--verbose"],
    "Cannot honour --bare with a conversation: .*",
  ],
];

Deno.test("the shim passes what claude-print refuses to the real claude", async () => {
  await using here = await machine();
  await here.shim(["install", here.dir]);
  for (const env of [{}, { CLAUDE_PRINT_SHIM: "off" }]) {
    const { code, stdout } = await here.call(["--version"], { env });
    assertEquals([code, stdout], [0, "2.1.332 (Claude Code)\n"]);
  }
  await using server = await serve();
  const echo = '#!/bin/sh\n[ "$1" != --version ] || { echo "2.1.332 (Claude Code)"; exit; }\n' +
    'printf "%s|" "$@"; cat; exit 7\n';
  await Deno.writeTextFile(here.claude.binary, echo);
  for (const [args, reason] of HANDED_ON) {
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
  const version = "#!/bin/sh\necho '2.1.197 (Claude Code)'\n";
  await Deno.writeTextFile(here.claude.binary, version);
  const old = await here.call(["-p", "--safe-mode", "--max-turns", "2", "hello"]);
  assertEquals([old.code, old.stdout], [2, ""]);
  assertMatch(old.stderr, /^claude-print: Claude Code 2\.1\.197 is too old: /u);
  // A credential on a descriptor reaches the real claude.
  const cat = '#!/bin/sh\n[ "$1" = --version ] && echo "2.1.332 (Claude Code)" || cat <&5\n';
  await Deno.writeTextFile(here.claude.binary, cat);
  const { stdout } = await here.run([
    ...["/bin/sh", "-c", 'exec 5<<END\nsecret\nEND\nexec "$@"', "sh"],
    ...["claude", "-p", "--safe-mode", "--max-turns", "2", "hello"],
  ], { env: { CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR: "5" } });
  assertEquals(stdout, "secret");
});

Deno.test("shim install and remove leave other programs alone", async () => {
  await using here = await machine();
  const { path } = here.claude.home;
  const before = await Deno.readTextFile(here.claude.binary);
  for (const action of ["install", "remove"]) {
    const { code, stderr } = await here.shim([action, path]);
    assertEquals(code, 2);
    assertStringIncludes(stderr, `Cannot ${action} the shim: "${path}/claude"`);
  }
  assertEquals(await Deno.readTextFile(here.claude.binary), before);
  const gone = await here.shim(["remove", `${path}/nowhere`]);
  assertEquals(gone.code, 2);
  assertStringIncludes(gone.stderr, `there is no "${path}/nowhere/claude"`);
  const elsewhere = await here.shim(["install", `${path}/else/where`]);
  assertEquals(elsewhere.code, 0);
  assertStringIncludes(elsewhere.stdout, "first on PATH: export PATH=");
});

Deno.test("shim status names the problem and the remedy", async () => {
  await using here = await machine();
  const { dir } = here;
  const { path, env } = here.claude.home;
  await here.shim(["install", dir]);
  const state = async (more: Env, ...args: readonly string[]) => {
    const { code, stdout } = await here.shim(["status", ...args], more);
    return [code, stdout.trimEnd().split("\n").at(-1)];
  };
  assertEquals(await state({}), [0, "state   on: claude -p goes through claude-print"]);
  const first = `export PATH="${dir}:$PATH"`;
  const cases: readonly [string, Env, ...string[]][] = [
    ["not active: CLAUDE_PRINT_SHIM=off is in the environment", { CLAUDE_PRINT_SHIM: "off" }],
    [`not active yet: put ${dir} before ${path} on PATH: ${first}`, {
      PATH: `${path}:${dir}:${env["PATH"]}`,
    }],
    [`not active yet: put ${dir} first on PATH: ${first}`, { PATH: `${path}:${env["PATH"]}` }, dir],
  ];
  for (const [problem, more, ...args] of cases) {
    assertEquals(await state(more, ...args), [2, `state   ${problem}`]);
  }
  const script = await Deno.readTextFile(`${dir}/claude`);
  await Deno.writeTextFile(`${dir}/claude`, `${script}# older\n`);
  assertEquals(await state({}), [
    2,
    `state   outdated: another claude-print made it; run claude-print shim install ${dir}`,
  ]);
  assertEquals((await here.shim(["install", dir])).code, 0, "a second install is an upgrade");
  assertEquals((await state({}))[0], 0);
});
