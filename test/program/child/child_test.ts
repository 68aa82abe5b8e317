import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { CLAUDE_PRINT } from "../../claude_print.ts";
import { StandIn } from "../stand_in.ts";
import { runInTerminal } from "../terminal_run.ts";
import { NOWHERE } from "../../nowhere.ts";
import { writeFiles } from "../../write_files.ts";

/** Runs once and returns what the child saw when it started. */
async function childOf(
  claude: StandIn,
  args: readonly string[] = [],
  env: Readonly<Record<string, string | undefined>> = {},
) {
  const run = await claude.printInProcess([...args, "hello"], { env });
  assertEquals([run.stderr, run.code], ["", 0]);
  const start = (await claude.journal("start")).at(-1);
  assert(start !== undefined);
  return start;
}

Deno.test("the child has the documented environment, arguments and terminal", async () => {
  await using claude = await StandIn.set();
  const { env, cwd, terminals, size, args } = await childOf(claude, [], { MINE: "kept" });
  const { home } = claude;
  const sandbox = /^(.*)\/\.claude$/.exec(env["CLAUDE_CONFIG_DIR"] ?? "")?.[1] ?? "";
  assertEquals(sandbox.startsWith(`${home.tmp}/claude-print-`), true);
  assertEquals(env["CLAUDE_CODE_TMPDIR"], `${sandbox}/tmp`);
  assertEquals(env["CLAUDE_SECURESTORAGE_CONFIG_DIR"], home.config);
  assertEquals([env["HOME"], env["TMPDIR"], env["MINE"]], [home.path, home.tmp, "kept"]);
  assertEquals([env["TERM"], env["DISABLE_AUTOUPDATER"]], ["xterm-256color", "1"]);
  for (
    const name of [
      "CLAUDE_CODE_DISABLE_TERMINAL_TITLE",
      "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
      "CLAUDE_CODE_DISABLE_ALTERNATE_SCREEN",
    ]
  ) assertEquals(env[name], "1", name);
  assertEquals(cwd, home.project);
  assertEquals(terminals, [false, true, true], "the prompt comes from a file");
  assertEquals(size, { columns: 220, rows: 50 }, "the default size");
  const [mode, tools, agent, settings, thinking, session, ...others] = args;
  assertEquals(mode, "--permission-mode=default");
  assertEquals(tools, "--disallowedTools=AskUserQuestion,EnterPlanMode,ExitPlanMode");
  assertEquals(agent, "--disallowedTools=Agent(claude-code-guide)");
  assertEquals(settings, `--settings=${sandbox}/own/settings.json`);
  assertEquals(thinking, "--thinking-display=omitted");
  assertMatch(session ?? "", /^--session-id=[0-9a-f-]{36}$/);
  assertEquals(others, [], "the prompt is no argument");

  await using inner = await StandIn.set();
  const { CLAUDE_PRINT_USER_CONFIG_DIR, CLAUDE_SECURESTORAGE_CONFIG_DIR } = env;
  const nested = await childOf(inner, [], {
    CLAUDE_CONFIG_DIR: NOWHERE,
    CLAUDE_PRINT_USER_CONFIG_DIR,
    CLAUDE_SECURESTORAGE_CONFIG_DIR,
  });
  assertEquals(nested.env["CLAUDE_SECURESTORAGE_CONFIG_DIR"], home.config);
  assertEquals(inner.transcripts().size, 1, "the transcript is the user's");
});

Deno.test("CLAUDE_CONFIG_DIR of the caller is the user's config dir", async () => {
  await using claude = await StandIn.set({}, { loggedIn: false });
  const dir = `${claude.home.path}/other`;
  await Deno.mkdir(dir);
  const login = { claudeAiOauth: { accessToken: "sk-ant-oat01-throwaway" } };
  await Deno.writeTextFile(`${dir}/.credentials.json`, JSON.stringify(login));
  const { env } = await childOf(claude, [], { CLAUDE_CONFIG_DIR: dir });
  assertEquals(env["CLAUDE_SECURESTORAGE_CONFIG_DIR"], dir);
  assertEquals([...Deno.readDirSync(`${dir}/projects`)].length, 1);
  assertEquals(claude.transcripts().size, 0);
});

Deno.test("hooks of caller and project run, the user's do not", async () => {
  await using claude = await StandIn.set();
  const { path, config, project } = claude.home;
  const settingsOf = (who: string) => {
    const hooks = [{ hooks: [{ type: "command", command: `echo ${who} >> ${path}/ran` }] }];
    return JSON.stringify({ hooks: { UserPromptSubmit: hooks } });
  };
  await writeFiles(config, { "settings.json": settingsOf("user") });
  await writeFiles(project, { ".claude/settings.json": settingsOf("project") });
  await writeFiles(path, { "caller.json": `// with a comment\n${settingsOf("file")}` });
  await childOf(claude, ["--settings", settingsOf("inline")]);
  await childOf(claude, ["--settings", `${path}/caller.json`]);
  const ran = (await Deno.readTextFile(`${path}/ran`)).trimEnd().split("\n");
  assertEquals(ran.toSorted(), ["file", "inline", "project", "project"]);
});

Deno.test("in a terminal a missing prompt is an error", async () => {
  await using claude = await StandIn.set();
  const { home, binary } = claude;
  const command = [...CLAUDE_PRINT, "--claude-binary", binary];
  const size = { rows: 24, cols: 80 };
  const run = await runInTerminal(command, { size, cwd: home.project, env: home.env });
  assertEquals(run.exit, { kind: "exited", code: 2 });
  assertStringIncludes(run.output, 'Type claude-print "your prompt"');
  assertEquals(await claude.journal("start"), []);
});
