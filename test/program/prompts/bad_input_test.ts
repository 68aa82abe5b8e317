import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { makeFifo } from "../../../ffi/descriptors/pipe.ts";
import type { Scenario } from "../../../fixtures/mock/scenario.ts";
import { OLDEST_VERSION } from "../../../src/claude/versions/compare_versions.ts";
import { CLAUDE_PRINT } from "../../claude_print.ts";
import { MISSING, NOWHERE } from "../../nowhere.ts";
import { writeScript } from "../../write_script.ts";
import type { Run } from "../run.ts";
import { StandIn, type StartOptions } from "../stand_in.ts";
import { runInTerminal } from "../terminal_run.ts";
import { callerLines, CONVERSATION, STREAM_FORMAT, userMessage } from "../../caller_lines.ts";
import { writeFiles } from "../../write_files.ts";

/** A mistake, and the words of its error. */
interface Mistake {
  readonly args: readonly string[];
  readonly options?: StartOptions;
  readonly message: RegExp;
  readonly suggestion: RegExp;
  /** Prepares the home. */
  readonly before?: (claude: StandIn) => Promise<unknown>;
  readonly scenario?: Partial<Scenario>;
  readonly loggedIn?: boolean;
  /** Only the program reports a mistake of the command line. */
  readonly isUnread?: true;
}

const HELLO = ["hello"];
const NO_PROMPT = /^No prompt given$/;
const TOO_OLD = `Claude Code 2.1.197 is too old: claude-print needs ${OLDEST_VERSION} or newer`;

/** Writes a file into the project folder. */
function file(name: string, content: string | Uint8Array<ArrayBuffer>, mode = 0o600) {
  return async ({ home }: StandIn) => {
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    await Deno.writeFile(`${home.project}/${name}`, bytes, { mode });
  };
}

/** A file `./claude` in the place of Claude Code. */
function binary(content: string, more: readonly string[] = []) {
  return {
    args: ["--claude-binary", "./claude", ...more, ...HELLO],
    options: { namesBinary: false },
    before: file("claude", content, 0o755),
  };
}

/** One row of each stage of a run. The pure tests and the rows of parity have the other mistakes. */
const MISTAKES: Readonly<Record<string, Mistake>> = {
  "an unsupported Claude Code": {
    args: HELLO,
    scenario: { version: "2.1.197" },
    message: new RegExp(`^${TOO_OLD}$`, "u"),
    suggestion: /claude update.*npm install -g.*--claude-binary/,
  },
  "no claude on PATH": {
    args: HELLO,
    options: { namesBinary: false, env: { PATH: NOWHERE } },
    message: /^Cannot start claude: "claude" is not on PATH$/,
    suggestion: /npm install -g @anthropic-ai\/claude-code.*--claude-binary/,
  },
  "another program": {
    args: ["--claude-binary", "/bin/true", ...HELLO],
    options: { namesBinary: false },
    message: /^Cannot use "\/bin\/true": it is not Claude Code/,
    suggestion: /--claude-binary/,
  },
  "a claude without interpreter": {
    ...binary(`#!${MISSING}\n`),
    message: /^Cannot .*Cannot start ".*claude": No such file or directory /,
    suggestion: /./,
  },
  "another program that stays silent": {
    ...binary(
      '#!/bin/sh\n[ "$1" = --version ] && exec echo "other 1.0"\nexec sleep 600\n',
      ["--start-timeout", "1"],
    ),
    message: /^Cannot use ".*claude": it is not Claude Code, its --version says something else$/,
    suggestion: /--claude-binary/,
  },
  "a program without --version": {
    ...binary("#!/bin/sh\nsleep 600\n", ["--start-timeout", "1"]),
    message: /^Cannot use ".*claude": it is not Claude Code, its --version says something else$/,
    suggestion: /--claude-binary/,
  },
  "an --input-file that cannot be read": {
    args: ["--input-file", "/proc/self/mem"],
    message: /^Cannot read --input-file "\/proc\/self\/mem": Input\/output error/,
    suggestion: /Name a text file/,
  },
  "an --input-file that is not UTF-8": {
    args: ["--input-file", "latin"],
    before: file("latin", new Uint8Array([0x61, 0xff, 0xfe, 0x62])),
    message: /^Cannot send "latin": it is not UTF-8 from byte offset 1 on$/,
    suggestion: /iconv/,
  },
  "an empty prompt": { args: [""], message: NO_PROMPT, suggestion: /claude-print "your prompt"/ },
  "a prompt that cannot be pasted": {
    args: ["--inject", "paste", " exit"],
    message: /^Cannot send the prompt "exit": the interactive Claude Code quits on this word$/,
    suggestion: /sentence/,
  },
  "an unknown flag": {
    args: ["--modle", "opus", ...HELLO],
    isUnread: true,
    message: /^unknown flag --modle$/,
    suggestion: /Did you mean --model\?/,
  },
  "--exact-stream with another API": {
    args: [
      ...["--output-format", "stream-json", "--verbose"],
      ...["--include-partial-messages", "--exact-stream", ...HELLO],
    ],
    options: { env: { CLAUDE_CODE_USE_BEDROCK: "1" } },
    message:
      /^Cannot honour --exact-stream: CLAUDE_CODE_USE_BEDROCK lets Claude Code ask Amazon Bedrock$/,
    suggestion: /Leave out --exact-stream/,
  },
  "an unsupported flag": {
    args: ["--from-pr", "--", ...HELLO],
    isUnread: true,
    message: /^Cannot honour --from-pr: /,
    suggestion: /Leave it out/,
  },
  "a TMPDIR that is not writable": {
    // Not even root can make a folder in /proc.
    args: HELLO,
    options: { env: { TMPDIR: "/proc" } },
    message: /^Cannot create a private folder in \/proc: /,
    suggestion: /Set TMPDIR to a folder you can write to/,
  },
  "no HOME": {
    args: HELLO,
    options: { env: { HOME: undefined } },
    message: /^Cannot find the login of Claude Code: HOME is not set$/,
    suggestion: /CLAUDE_CONFIG_DIR/,
  },
  "no login": {
    args: HELLO,
    loggedIn: false,
    message: /^Cannot log in to Claude: there is no login in .*\.claude$/,
    suggestion: /claude \/login.*CLAUDE_CODE_OAUTH_TOKEN/,
  },
};

Deno.test("a mistake is reported before the child starts", async (test) => {
  for (const [name, mistake] of Object.entries(MISTAKES)) {
    await test.step(name, async () => {
      const { scenario, loggedIn = true, args, options, isUnread } = mistake;
      await using claude = await StandIn.set(scenario, { loggedIn });
      await mistake.before?.(claude);
      const words = ["--output-format", "json", ...args];
      const run = isUnread
        ? await claude.print(words, options)
        : await claude.printInProcess(words, options);
      assertEquals(run.code, 2);
      const [, message = "", suggestion = "", others = ""] =
        /^claude-print: (.*)\n {2}(.*)\n([^]*)$/.exec(run.stderr) ?? [];
      assertMatch(message, mistake.message);
      assertMatch(suggestion, mistake.suggestion);
      assert(others === "" || /^ {2}The last screen:\n/.test(others), run.stderr);
      assertEquals([run.result["subtype"], run.result["errors"]], ["internal_error", [message]]);
      assertEquals(await claude.journal("start"), [], "no child is started");
      assertEquals(claude.transcripts().size, 0);
    });
  }
});

Deno.test("every format reports a mistake", async () => {
  await using claude = await StandIn.set();
  const print = (more: readonly string[]) => claude.print([...more, ...HELLO]);
  const outcome = ({ code, frames }: Run) => [code, ...frames.map(({ subtype }) => subtype)];
  const unread = await print([...STREAM_FORMAT, "--timeout", "0"]);
  assertEquals(outcome(unread), [2, "internal_error"]);
  const unparsed = await claude.printInProcess([...STREAM_FORMAT, "--settings", "{", ...HELLO]);
  assertEquals(outcome(unparsed), [2, "internal_error"]);
  const unstartedCall = await claude.printInProcess([
    ...STREAM_FORMAT,
    "--resume",
    crypto.randomUUID(),
    ...HELLO,
  ]);
  assertEquals(outcome(unstartedCall), [1, "error_during_execution"]);
  const text = await print(["--timeout", "0"]);
  assertEquals([text.code, text.stdout], [2, ""]);
  assertEquals(text.stderr, unread.stderr);
});

Deno.test("an unsupported Claude Code gives a conversation a result", async () => {
  await using claude = await StandIn.set({ version: "2.1.197" });
  const stdin = callerLines([userMessage("hello")]);
  const { code, frames } = await claude.print(CONVERSATION, { stdin });
  assertEquals([code, frames.at(-1)?.["errors"]], [2, [TOO_OLD]]);
  assertEquals(await claude.journal("start"), []);
});

Deno.test("a Claude Code without a version is accepted", async () => {
  await using claude = await StandIn.set({ versionText: "a wrapper" });
  assertEquals((await claude.printInProcess(HELLO)).code, 0);
});

Deno.test("a command line of 1 MB may have mistakes", async () => {
  await using claude = await StandIn.set();
  const words = Array.from({ length: 8 }, () => "word ".repeat(24_000));
  const { code, stdout, stderr } = await claude.print([...words, "--nonsense"]);
  assertEquals([code, stdout], [2, ""]);
  assertMatch(stderr, /^claude-print: unknown flag --nonsense/);
});

Deno.test("a word at a terminal is not sent to the model unasked", async () => {
  await using claude = await StandIn.set();
  const { env, path, project: cwd } = claude.home;
  const size = { cols: 80, rows: 24 };
  const onPath = { ...env, PATH: `${path}:${env["PATH"]}` };
  const type = (args: readonly string[]) =>
    runInTerminal([...CLAUDE_PRINT, ...args], { size, cwd, env: onPath });
  const typo = await type(["doctr"]);
  assertEquals(typo.exit, { kind: "exited", code: 2 });
  assertStringIncludes(typo.output, "Did you mean claude-print doctor?");
  const help = await type(["help"]);
  assertEquals(help.exit, { kind: "exited", code: 0 });
  assertStringIncludes(help.output, "Usage: claude-print");
  assertEquals(await claude.journal("start"), []);
  const piped = await claude.start(["doctr"], { env: onPath, namesBinary: false, warns: true });
  const { code, stdout, stderr } = await piped.ended;
  assertEquals([code, stdout], [0, "Hello from the stand-in.\n"]);
  assertMatch(stderr, /^claude-print: Warning: "doctr" looks like a command, but is sent/u);
});

Deno.test("a TMPDIR with blanks, quotes and unicode works", async () => {
  await using claude = await StandIn.set({
    turns: [[
      { tools: [{ name: "Bash", input: { command: "touch made" }, asks: true }] },
      { text: "{prompt}" },
    ]],
  });
  const tmp = `${claude.home.path}/a 'b' "c" $d \`e\` ünï\\cödé \n👍🏽`;
  await Deno.mkdir(tmp);
  const env = { TMPDIR: tmp };
  const run = await claude.printInProcess(["--output-format", "json", ...HELLO], { env });
  assertEquals([run.stderr, run.code, run.result["result"]], ["", 0, "hello"]);
  assertEquals((run.result["permission_denials"] as readonly unknown[]).length, 1);
  assertEquals([...Deno.readDirSync(tmp)], []);
});

/** Errors of `--rewind-files`, and the remedy of each. */
const REWIND_ERRORS: readonly (readonly [string, RegExp])[] = [
  ["Failed to rewind: No files were restored: 1 file failed (backup missing)", /with git/u],
  ["Failed to rewind: No file checkpoint found for this message.", /by the uuid/u],
  ["--rewind-files requires a user message UUID, but x is not a user message", /by the uuid/u],
  ["File rewinding is not enabled.", /CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING=1/u],
];

Deno.test("--rewind-files adds a remedy to Claude Code's error", async () => {
  await using claude = await StandIn.set();
  const [session, message] = [crypto.randomUUID(), crypto.randomUUID()];
  await writeFiles(claude.home.config, { [`projects/-elsewhere/${session}.jsonl`]: "{}\n" });
  const binary = `${claude.home.path}/headless`;
  const args = ["--claude-binary", binary, "--resume", session, "--rewind-files", message];
  for (const [error, remedy] of REWIND_ERRORS) {
    const version = 'case "$*" in *--version*) echo "2.1.332 (Claude Code)"; exit;; esac';
    await writeScript(binary, `#!/bin/sh\n${version}\necho "Error: ${error}" >&2\nexit 1\n`);
    const { code, stderr } = await claude.print(args, { namesBinary: false });
    const [cause, suggestion = "", ...more] = stderr.split("\n");
    assertEquals([code, cause, more], [1, `claude-print: ${error}`, [""]]);
    assertMatch(suggestion, remedy);
  }
});

Deno.test("a folder that vanishes while the prompt is read", async () => {
  await using claude = await StandIn.set();
  const { path } = claude.home;
  const cwd = `${path}/vanishing`;
  await Deno.mkdir(cwd);
  makeFifo(`${path}/prompt`);
  const run = claude.start(["--input-file", `${path}/prompt`, "--output-format", "json"], { cwd });
  // This waits until the run has opened the other end.
  const prompt = await Deno.open(`${path}/prompt`, { write: true });
  await Deno.remove(cwd);
  await prompt.write(new TextEncoder().encode("hello"));
  prompt.close();
  const { code, stderr } = await run.ended;
  assertEquals(code, 2);
  assertMatch(
    stderr,
    /^claude-print: Cannot work in .*: it (?:no longer exists|does not exist)\n {2}Change .*\n$/,
  );
});

Deno.test("a conversation after a refused initialization carries out no message", async () => {
  await using claude = await StandIn.set({ turns: [[{ text: "Done." }]] });
  const hooks = { PreToolUse: [{ matcher: "Bash", hookCallbackIds: "guard" }] };
  const stdin = callerLines([
    { type: "control_request", request_id: "i", request: { subtype: "initialize", hooks } },
    userMessage("one"),
  ]);
  const { code, stdout, stderr } = await claude.print(CONVERSATION, { stdin });
  const cause = '"hooks" of PreToolUse need "hookCallbackIds"';
  assertEquals(code, 2);
  assertMatch(stderr, /Cannot send the message: "hooks" of PreToolUse/);
  const frames = stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
  assertEquals(frames.map(({ type }) => type), ["control_response", "system", "result"]);
  assertEquals([frames[0].response.error, frames[2].errors], [
    cause,
    [`Cannot send the message: ${cause}`],
  ]);
});
