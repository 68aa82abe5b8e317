import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { leftovers } from "../../leftovers.ts";
import { StandIn } from "../../program/stand_in.ts";
import { writeScript } from "../../write_script.ts";
import { serve } from "../../program/server/delegation/served.ts";
import { callerLines, CONVERSATION, JSON_FORMAT, userMessage } from "../../caller_lines.ts";
import { inShell } from "../../in_shell.ts";

const ECHO = { turns: [[{ text: "You said {prompt}, {turn}" }]] };
const SIGNALLED = [["SIGINT", 130], ["SIGTERM", 143], ["SIGUSR1", 138]] as const;
const MESSAGE = callerLines([userMessage("one")]);

Deno.test("a run is delegated unless it asks otherwise", async () => {
  await using claude = await StandIn.set(ECHO);
  await using server = await serve();
  const { env } = server;
  const print = async (args: readonly string[], more: Readonly<Record<string, string>> = {}) => {
    const { code, stdout, stderr } = await claude.print(["hello", "--trace", ...args], {
      env: { ...env, ...more },
      warns: true,
    });
    assertEquals([code, stdout], [0, "You said hello, 1\n"]);
    // Whose the private folder is is in its name.
    return stderr.includes(`/${server.pid}-`);
  };
  assertEquals(await print([]), true);
  assertEquals(await print(["--cold"]), false);
  assertEquals(await print([], { CLAUDE_PRINT_SERVE: "off" }), false);
  // What a path begins at is the folder of who has written it.
  assertEquals(await print([], { CLAUDE_CONFIG_DIR: "../.claude" }), false);
  // An fd is that of who has it.
  assertEquals(await print(["--mcp-config", "/dev/fd/63"]), false);
  assertEquals(await print(["--append-system-prompt-file=/proc/self/fd/63"]), false);
  assertEquals(await print([], { CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR: "63" }), false);
  assertEquals(await print(["--record", "own"]), true);
  assertEquals(Deno.statSync(`${claude.home.project}/own/meta.json`).isFile, true);
  const talk = await claude.print([...CONVERSATION, "--trace"], {
    ...{ stdin: MESSAGE, env, warns: true },
  });
  assertEquals([talk.code, talk.result["result"]], [0, "You said one, 1"]);
  assertStringIncludes(talk.stderr, `/${server.pid}-`);
});

Deno.test("signals and --timeout end a delegated run", async () => {
  await using claude = await StandIn.set({ hang: "answer" });
  await using server = await serve();
  const { env } = server;
  for (const [index, [signal, code]] of SIGNALLED.entries()) {
    const run = claude.start([...JSON_FORMAT, "hello"], { env });
    await claude.untilNoted("prompt", index + 1);
    run.kill(signal);
    const ended = await run.ended;
    assertEquals([ended.code, ended.result["subtype"]], [code, "interrupted"]);
    assertEquals(ended.stderr, `claude-print: The run was interrupted by ${signal}\n`);
  }
  const quit = async (prompts: number) => {
    const run = claude.start([...JSON_FORMAT, "hello"], { env, killed: true });
    await claude.untilNoted("prompt", SIGNALLED.length + prompts);
    run.kill("SIGQUIT");
    const { code, stdout, stderr } = await run.ended;
    assertEquals([code, stdout], [131, ""]);
    return stderr;
  };
  assertEquals(await quit(1), "");
  const { config } = claude.home;
  await Deno.rename(`${config}/projects`, `${config}/before`);
  await Deno.writeTextFile(`${config}/projects`, "not a folder");
  assertMatch(
    await quit(2),
    /^claude-print: Warning: Cannot copy the transcript .*; it is kept in .*\n$/u,
  );
  await Deno.remove(`${config}/projects`);
  const late = await claude.print([...JSON_FORMAT, "--timeout", "1", "hello"], { env });
  assertEquals([late.code, late.result["subtype"]], [124, "timeout"]);
});

Deno.test("a stopped, dead or foreign server is ignored", async () => {
  await using claude = await StandIn.set(ECHO);
  await using server = await serve();
  const print = async () => {
    const { code, stdout, stderr } = await claude.print(["hello", "--trace"], {
      env: server.env,
      warns: true,
    });
    assertEquals([code, stdout], [0, "You said hello, 1\n"]);
    return /without a server: (.*)/u.exec(stderr)?.[1];
  };
  const folder = `${server.env.XDG_RUNTIME_DIR}/claude-print`;
  server.kill("SIGSTOP");
  assertEquals(await print(), "the server is stopped");
  server.kill("SIGCONT");
  await Deno.chmod(folder, 0o750);
  assertMatch(await print() ?? "", /cannot be trusted: others may enter it$/u);
  await Deno.chmod(folder, 0o700);
  assertEquals(await print(), undefined);
  server.kill("SIGKILL");
  await server.ended;
  assertMatch(await print() ?? "", /Connection refused/u);
  await Deno.remove(`${folder}/run.sock`);
  await Deno.symlink("/dev/null", `${folder}/run.sock`);
  assertEquals(await print(), undefined);
  assertEquals((await claude.journal("start")).length, 5);
});

Deno.test("a run with its own limits is not delegated", async () => {
  await using claude = await StandIn.set(ECHO);
  await using server = await serve();
  for (const limit of ["umask 027", "ulimit -f 100000"]) {
    const { code, stderr } = await claude.print(["hello", "--trace"], {
      env: server.env,
      warns: true,
      wrap: inShell(`${limit}; exec "$@"`),
    });
    assertEquals(code, 0);
    assertStringIncludes(
      stderr,
      "without a server: the server has other limits, rights or namespaces\n",
    );
  }
});

Deno.test("a delegated run uses its caller's folder", async () => {
  await using claude = await StandIn.set(ECHO);
  const folder = await Deno.makeTempDir();
  await using server = await serve({ args: ["--warm", "1"], cwd: folder });
  await Deno.remove(folder);
  // As that of a version manager, which knows Claude Code in the project alone.
  const shim = `${claude.home.path}/shim`;
  const text =
    `#!/bin/sh\n[ "$PWD" = '${claude.home.project}' ] || exit 1\nexec '${claude.binary}' "$@"\n`;
  await writeScript(shim, text);
  const { code, stdout, stderr } = await claude.print(
    ["--claude-binary", shim, "hello", "--trace"],
    { env: server.env, namesBinary: false, killed: true },
  );
  assertEquals([code, stdout], [0, "You said hello, 1\n"]);
  assertStringIncludes(stderr, ": no child waits\n");
});

/** The stand-in is about to end for as long as any test may take. */
const LINGERS = { ...ECHO, exitMs: 600_000 };
/** What a run leaves is looked at while its Claude Code is still there. */
const AT_ONCE = { killed: true };

Deno.test("a run ends before its child does", async () => {
  await using claude = await StandIn.set(LINGERS);
  await using server = await serve();
  const print = (args: readonly string[]) =>
    claude.print(["--exit-timeout", "60", ...args], { env: server.env, ...AT_ONCE });
  const { code, stdout } = await print([...JSON_FORMAT, "one"]);
  const { session_id, result, total_cost_usd } = JSON.parse(stdout);
  assertEquals([code, result, typeof total_cost_usd], [0, "You said one, 1", "number"]);
  assertEquals(await claude.journal("exit"), []);
  const [[path, lines] = ["", ""], ...others] = claude.transcripts();
  assertEquals([path.endsWith(`/${session_id}.jsonl`), others], [true, []]);
  assertEquals(JSON.parse(lines.trimEnd().split("\n").at(-1) ?? "").type, "cost-state");
  // Its session is nobody's any more.
  const next = await print(["--resume", session_id, "two"]);
  assertEquals([next.code, next.stdout, next.stderr], [0, "You said two, 1\n", ""]);
  assertStringIncludes(claude.transcripts().get(path) ?? "", lines);
  for (const { pid } of await claude.journal("start")) Deno.kill(pid, "SIGKILL");
  server.kill("SIGTERM");
  const { stderr } = await server.ended;
  // Whoever runs the server is told.
  const told = "Claude Code was killed after its answer by another process (SIGKILL)";
  assertEquals(stderr, `claude-print: ${told}\n`.repeat(2));
  assertEquals(await leftovers(claude.home), []);
});

Deno.test("an ending server waits for leftover children", async () => {
  await using claude = await StandIn.set({ ...ECHO, exitMs: 300 });
  await using server = await serve();
  const { code } = await claude.print(["hello"], { env: server.env, ...AT_ONCE });
  server.kill("SIGTERM");
  const { code: ended, stderr } = await server.ended;
  assertEquals([code, ended, stderr], [0, 0, ""]);
  assertEquals((await claude.journal("exit")).length, 1);
  assertEquals(await leftovers(claude.home), []);
});

Deno.test("recordings and hooks wait for the child's end", async () => {
  await using claude = await StandIn.set({ ...ECHO, exitMs: 300 });
  await using server = await serve();
  const { config, project } = claude.home;
  const ends = async (args: readonly string[]) => {
    const before = (await claude.journal("exit")).length;
    const { code } = await claude.print(args, { env: server.env, ...AT_ONCE });
    assertEquals(code, 0, args.join(" "));
    return (await claude.journal("exit")).length - before;
  };
  assertEquals(await ends(["--record", "own", "hello"]), 1);
  const command = { type: "command", command: "true" };
  const hooks = { SessionEnd: [{ hooks: [command] }] };
  assertEquals(await ends(["--settings", JSON.stringify({ hooks }), "hello"]), 1);
  // Nowhere to bring the transcript home to: it is told as at every end.
  await Deno.remove(`${config}/projects`, { recursive: true });
  await Deno.writeTextFile(`${config}/projects`, "");
  const { code, stderr } = await claude.print(["hello"], { env: server.env, ...AT_ONCE });
  assertEquals(code, 0);
  assertStringIncludes(stderr, "Cannot copy the transcript to ");
  assertEquals((await claude.journal("exit")).length, 3);
  await Deno.remove(`${project}/own`, { recursive: true });
});

const FAILS = { failure: { error: "invalid_request", status: 400, message: "No" } };

Deno.test("conversations and failed runs end before the child", async () => {
  await using claude = await StandIn.set({ ...LINGERS, turns: [[FAILS], [FAILS]] });
  await using server = await serve();
  const { env } = server;
  const told = await claude.print([...JSON_FORMAT, "one"], { env, ...AT_ONCE });
  assertEquals([told.code, JSON.parse(told.stdout).is_error], [1, true]);
  assertMatch(told.stderr, /^claude-print: /u);
  const said = await claude.print(CONVERSATION, { env, stdin: MESSAGE, ...AT_ONCE });
  assertEquals(said.code, 1);
  assertEquals(await claude.journal("exit"), []);
  for (const { pid } of await claude.journal("start")) Deno.kill(pid, "SIGKILL");
});
