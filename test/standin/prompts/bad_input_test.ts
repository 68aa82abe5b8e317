import { OLDEST_VERSION } from "../../../src/claude/versions/compare_versions.ts";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { makeFifo } from "../../../ffi/descriptors/pipe.ts";
import { MISSING, NOWHERE } from "../../nowhere.ts";
import type { Scenario } from "../../../fixtures/mock/scenario.ts";
import { writeScript } from "../../write_script.ts";
import type { Run } from "../run.ts";
import { StandIn, type StartOptions } from "../stand_in.ts";

/** One way to go wrong, and what is said about it. */
interface Mistake {
  readonly args: readonly string[];
  readonly options?: StartOptions;
  readonly message: RegExp;
  readonly suggestion: RegExp;
  /** Prepares the home. */
  readonly before?: (claude: StandIn) => Promise<unknown>;
  readonly scenario?: Partial<Scenario>;
  readonly loggedIn?: boolean;
  /** Whether there is nothing to go on with, which Claude Code says in a way of its own. */
  readonly isUnbegun?: true;
  /** Whether it is one of the command line, which the program itself tells of. */
  readonly isUnread?: true;
  /** Whether it is made with text as well, which one of each stage of a run is: what is told on stderr is the same. */
  readonly isToldInText?: boolean;
}

const BYTES = new Uint8Array([0x61, 0xff, 0xfe, 0x62]);

/** Writes a file into the project folder. */
function file(name: string, content: string | Uint8Array<ArrayBuffer>, mode = 0o600) {
  return async ({ home }: StandIn) => {
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    await Deno.writeFile(`${home.project}/${name}`, bytes, { mode });
  };
}

const TOO_OLD = `Claude Code 2.1.197 is too old: claude-print needs ${OLDEST_VERSION} or newer`;

const MISTAKES: Readonly<Record<string, Mistake>> = {
  "a Claude Code before the support window": {
    args: ["hello"],
    scenario: { version: "2.1.197" },
    message: new RegExp(`^${TOO_OLD}$`, "u"),
    suggestion: /claude update.*npm install -g.*--claude-binary/,
    isToldInText: true,
  },
  "no claude on PATH": {
    args: ["hello"],
    options: { namesBinary: false, env: { PATH: NOWHERE } },
    message: /^Cannot start claude: "claude" is not on PATH$/,
    suggestion: /npm install -g @anthropic-ai\/claude-code.*--claude-binary/,
    isToldInText: true,
  },
  "a claude on PATH that is not executable": {
    args: ["hello"],
    options: { namesBinary: false, env: { PATH: "." } },
    before: file("claude", "#!/bin/sh\n", 0o644),
    message: /^Cannot start claude: ".*\/claude" is not an executable file$/,
    suggestion: /chmod \+x/,
  },
  "a --claude-binary that does not exist": {
    args: ["--claude-binary", "./claude", "hello"],
    options: { namesBinary: false },
    message: /^Cannot start claude: "\.\/claude" does not exist$/,
    suggestion: /--claude-binary/,
  },
  "a --claude-binary that is not executable": {
    args: ["--claude-binary", "./claude", "hello"],
    options: { namesBinary: false },
    before: file("claude", "#!/bin/sh\n", 0o644),
    message: /^Cannot start claude: "\.\/claude" is not an executable file$/,
    suggestion: /chmod \+x/,
  },
  "a --claude-binary that is a directory": {
    args: ["--claude-binary", "./claude", "hello"],
    options: { namesBinary: false },
    before: ({ home }) => Deno.mkdir(`${home.project}/claude`),
    message: /^Cannot start claude: "\.\/claude" is (?:a directory|not an executable file)/,
    suggestion: /./,
  },
  "a --claude-binary that exits at once": {
    args: ["--claude-binary", "/bin/true", "hello"],
    options: { namesBinary: false },
    message: /^Cannot use "\/bin\/true": it is not Claude Code/,
    suggestion: /--claude-binary/,
    isToldInText: true,
  },
  "a --claude-binary without an interpreter": {
    args: ["--claude-binary", "./claude", "hello"],
    options: { namesBinary: false },
    before: file("claude", `#!${MISSING}\n`, 0o755),
    message: /^Cannot .*Cannot start ".*claude": No such file or directory /,
    suggestion: /./,
  },
  "a --claude-binary in no executable format": {
    args: ["--claude-binary", "./claude", "hello"],
    options: { namesBinary: false },
    before: file("claude", "\x7fELF nonsense\n", 0o755),
    message: /^Cannot .*Cannot start ".*claude": Exec format error /,
    suggestion: /./,
  },
  "a --claude-binary that is silent and says it is something else": {
    args: ["--claude-binary", "./claude", "--start-timeout", "1", "hello"],
    options: { namesBinary: false },
    before: file(
      "claude",
      '#!/bin/sh\n[ "$1" = --version ] && exec echo "other 1.0"\nexec sleep 600\n',
      0o755,
    ),
    message: /^Cannot use ".*claude": it is not Claude Code, its --version says something else$/,
    suggestion: /--claude-binary/,
  },
  "a --claude-binary that is silent whatever it is asked": {
    args: ["--claude-binary", "./claude", "--start-timeout", "1", "hello"],
    options: { namesBinary: false },
    before: file("claude", "#!/bin/sh\nsleep 600\n", 0o755),
    message: /^Cannot use ".*claude": it is not Claude Code, its --version says something else$/,
    suggestion: /--claude-binary/,
  },
  "an --input-file that cannot be read": {
    args: ["--input-file", "/proc/self/mem"],
    message: /^Cannot read --input-file "\/proc\/self\/mem": Input\/output error/,
    suggestion: /Name a text file/,
  },
  "an --input-file that does not exist": {
    args: ["--input-file", "missing.md"],
    message: /^Cannot read --input-file "missing\.md": there is no such file$/,
    suggestion: /Name a text file/,
  },
  "an --input-file that is a directory": {
    args: ["--input-file", "."],
    message: /^Cannot read --input-file "\.": it is a directory$/,
    suggestion: /Name a text file/,
  },
  "an --input-file that is binary": {
    args: ["--input-file", "binary"],
    before: file("binary", new Uint8Array([0x7f, 0x45, 0x4c, 0x46, 0, 1, 2, 0xff])),
    message: /^Cannot send "binary": it holds a NUL byte at byte offset 4$/,
    suggestion: /name it in the prompt/,
  },
  "an --input-file that is not UTF-8": {
    args: ["--input-file", "latin"],
    before: file("latin", BYTES),
    message: /^Cannot send "latin": it is not UTF-8 from byte offset 1 on$/,
    suggestion: /iconv/,
    isToldInText: true,
  },
  "an empty --input-file": {
    args: ["--input-file", "empty"],
    before: file("empty", ""),
    message:
      /^Error: Input must be provided either through stdin or as a prompt argument when using --print$/,
    suggestion: /claude-print "your prompt"/,
  },
  "stdin that is not UTF-8": {
    args: [],
    options: { stdin: BYTES },
    message: /^Cannot send stdin: it is not UTF-8 from byte offset 1 on$/,
    suggestion: /iconv/,
  },
  "a NUL on stdin": {
    args: ["and this"],
    options: { stdin: "a\0b" },
    message: /^Cannot send stdin: it holds a NUL byte at byte offset 1$/,
    suggestion: /./,
  },
  "no prompt at all": {
    args: [],
    message:
      /^Error: Input must be provided either through stdin or as a prompt argument when using --print$/,
    suggestion: /claude-print "your prompt"/,
  },
  "an empty prompt": {
    args: [""],
    message:
      /^Error: Input must be provided either through stdin or as a prompt argument when using --print$/,
    suggestion: /claude-print "your prompt"/,
    isToldInText: true,
  },
  "a prompt of white space": {
    args: [" \n\t "],
    message:
      /^Error: Input must be provided either through stdin or as a prompt argument when using --print$/,
    suggestion: /claude-print "your prompt"/,
  },
  "a word on which Claude Code quits": {
    args: ["--inject", "paste", " exit"],
    message: /^Cannot send the prompt "exit": the interactive Claude Code quits on this word$/,
    suggestion: /sentence/,
  },
  "--input-file and an argument": {
    args: ["--input-file", "some.md", "hello"],
    before: file("some.md", "hello"),
    message: /^Cannot choose a prompt: there are both --input-file and an argument$/,
    suggestion: /Give one of the two/,
  },
  "--input-file and text on stdin": {
    args: ["--input-file", "some.md"],
    options: { stdin: "hello" },
    before: file("some.md", "hello"),
    message: /^Cannot choose a prompt: there are both --input-file and text on stdin$/,
    suggestion: /Give one of the two/,
  },
  "an unknown flag": {
    args: ["--modle", "opus", "hello"],
    isUnread: true,
    message: /^Cannot read the command line: unknown flag --modle$/,
    suggestion: /Did you mean --model\?/,
    isToldInText: true,
  },
  "a flag without its value": {
    args: ["hello", "--model"],
    isUnread: true,
    message: /^Cannot read the command line: --model needs a value$/,
    suggestion: /Type --model/,
  },
  "a --timeout of 0": {
    args: ["--timeout", "0", "hello"],
    isUnread: true,
    message: /^Cannot read the command line: --timeout does not take "0"$/,
    suggestion: /Use seconds/,
  },
  "a --timeout of nonsense": {
    args: ["--timeout=soon", "hello"],
    isUnread: true,
    message: /^Cannot read the command line: --timeout does not take "soon"$/,
    suggestion: /Use seconds/,
  },
  "a flag that cannot be honoured": {
    args: ["--from-pr", "--", "hello"],
    isUnread: true,
    message: /^Cannot honour --from-pr: /,
    suggestion: /Leave it out/,
  },
  "a schema that is no JSON": {
    args: ["--json-schema", "schema.json", "hello"],
    message: /^Error: --json-schema is not valid JSON: /,
    suggestion: /Give a JSON Schema/,
  },
  "a schema that is none": {
    args: ["--json-schema", '{"type":"nonsense"}', "hello"],
    message: /^Error: --json-schema is not a valid JSON Schema: data\/type must be /,
    suggestion: /Give a JSON Schema/,
  },
  "bad JSON in --settings": {
    args: ["--settings", '{"model": }', "hello"],
    message: /^Cannot parse --settings: /,
    suggestion: /Give a JSON object/,
    isToldInText: true,
  },
  "a --settings file that does not exist": {
    args: ["--settings", "missing.json", "hello"],
    message: /^Error: Settings file not found: .*\/missing\.json$/,
    suggestion: /path of a file/,
  },
  "a session to resume that does not exist": {
    args: ["--resume", "123e4567-e89b-42d3-a456-426614174000", "hello"],
    message: /^No conversation found with session ID: 123e4567-\S+$/,
    isUnbegun: true,
    suggestion: /projects/,
  },
  "a $TMPDIR that does not exist": {
    args: ["hello"],
    options: { env: { TMPDIR: NOWHERE } },
    message: /^Cannot create a private folder in \/.*\/nowhere: no such folder$/,
    suggestion: /Set TMPDIR to a folder you can write to/,
  },
  "a $TMPDIR that nobody can write to": {
    // Not even root can make a folder in /proc.
    args: ["hello"],
    options: { env: { TMPDIR: "/proc" } },
    message: /^Cannot create a private folder in \/proc: /,
    suggestion: /Set TMPDIR to a folder you can write to/,
    isToldInText: true,
  },
  "a $TMPDIR that is a file": {
    args: ["hello"],
    options: { env: { TMPDIR: "/dev/null" } },
    message: /^Cannot create a private folder in \/dev\/null: /,
    suggestion: /Set TMPDIR to a folder you can write to/,
  },
  "no HOME and no CLAUDE_CONFIG_DIR": {
    args: ["hello"],
    options: { env: { HOME: undefined } },
    message: /^Cannot find the login of Claude Code: HOME is not set$/,
    suggestion: /CLAUDE_CONFIG_DIR/,
  },
  "no login": {
    args: ["hello"],
    loggedIn: false,
    message: /^Cannot log in to Claude: there is no login in .*\.claude$/,
    suggestion: /claude \/login.*CLAUDE_CODE_OAUTH_TOKEN/,
    isToldInText: true,
  },
};

for (const [name, mistake] of Object.entries(MISTAKES)) {
  Deno.test(`${name}: one line that says why, what to do about it, and the exit code`, async () => {
    const formats = [["--output-format", "json"], ...mistake.isToldInText ? [[]] : []];
    await Promise.all(formats.map(async (format) => {
      await using claude = await StandIn.set(mistake.scenario, {
        loggedIn: mistake.loggedIn ?? true,
      });
      await mistake.before?.(claude);
      const run = mistake.isUnread === true
        ? await claude.print([...format, ...mistake.args], mistake.options)
        : await claude.printHere([...format, ...mistake.args], mistake.options);
      assertEquals(run.code, mistake.isUnbegun ? 1 : 2);
      const [, message = "", suggestion = "", ...others] =
        /^claude-print: (.*)\n {2}(.*)\n([^]*)$/.exec(run.stderr) ?? [];
      assertMatch(message, mistake.message);
      assertMatch(suggestion, mistake.suggestion);
      assert(others.join("") === "" || /^ {2}The last screen:\n/.test(others.join("")), run.stderr);
      if (run.format === "json") {
        const subtype = mistake.isUnbegun ? "error_during_execution" : "internal_error";
        assertEquals([run.result["subtype"], run.result["errors"]], [subtype, [message]]);
      }
      assertEquals(await claude.journal("start"), [], "the child is not even started");
      assertEquals(claude.transcripts().size, 0);
    }));
  });
}

Deno.test("a conversation with a Claude Code that is too old ends with a result", async () => {
  await using claude = await StandIn.set({ version: "2.1.197" });
  const format = ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"];
  const stdin = `${
    JSON.stringify({ type: "user", message: { role: "user", content: "hello" } })
  }\n`;
  const { code, frames } = await claude.print(format, { stdin });
  assertEquals([code, frames.at(-1)?.["errors"]], [2, [TOO_OLD]]);
  assertEquals(await claude.journal("start"), []);
});

Deno.test("a program that names no version is not refused", async () => {
  await using claude = await StandIn.set({ versionText: "a wrapper" });
  assertEquals((await claude.printHere(["hello"])).code, 0);
});

Deno.test("stream-json tells of a mistake in a result too", async () => {
  await using claude = await StandIn.set();
  const args = (...more: string[]) => [
    ...["--output-format", "stream-json", "--verbose", ...more, "hello"],
  ];
  const told = ({ code, frames }: Run) => [code, ...frames.map(({ subtype }) => subtype)];
  const unread = await claude.print(args("--timeout", "0"));
  assertEquals(told(unread), [2, "internal_error"]);
  const unparsed = await claude.printHere(args("--settings", "{"));
  assertEquals(told(unparsed), [2, "internal_error"]);
  const unbegun = await claude.printHere(args("--resume", crypto.randomUUID()));
  assertEquals(told(unbegun), [1, "error_during_execution"]);
});

Deno.test("a mistake in a command line of a megabyte is told too", async () => {
  await using claude = await StandIn.set();
  const words = Array.from({ length: 8 }, () => "word ".repeat(24_000));
  const { code, stdout, stderr } = await claude.print([...words, "--nonsense"]);
  assertEquals([code, stdout], [2, ""]);
  assertMatch(stderr, /^claude-print: Cannot read the command line: .*--nonsense/);
});

Deno.test("a folder that vanishes while the prompt is read: one line that says so", async () => {
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
  assertMatch(stderr, /^claude-print: Cannot work in .*: it no longer exists\n {2}Change .*\n$/);
});

Deno.test("a $TMPDIR with blanks, quotes and unicode works", async () => {
  await using claude = await StandIn.set({
    turns: [[
      { tools: [{ name: "Bash", input: { command: "touch made" }, asks: true }] },
      { text: "{prompt}" },
    ]],
  });
  const tmp = `${claude.home.path}/a 'b' "c" $d \`e\` ünï\\cödé \n👍🏽`;
  await Deno.mkdir(tmp);
  const run = await claude.printHere(["--output-format", "json", "hello"], {
    env: { TMPDIR: tmp },
  });
  assertEquals([run.stderr, run.code, run.result["result"]], ["", 0, "hello"]);
  assertEquals((run.result["permission_denials"] as readonly unknown[]).length, 1);
  assertEquals([...Deno.readDirSync(tmp)], []);
});

Deno.test("no HOME is fine where CLAUDE_CONFIG_DIR is set", async () => {
  await using claude = await StandIn.set();
  const env = { HOME: undefined, CLAUDE_CONFIG_DIR: claude.home.config };
  const run = await claude.printHere(["hello"], { env });
  assertEquals([run.stderr, run.code], ["", 0]);
  assertEquals(claude.transcripts().size, 1);
});

Deno.test("a --session-id that is taken is refused, for a fork too, and its transcript stays", async () => {
  await using claude = await StandIn.set();
  const [taken, resumed] = [crypto.randomUUID(), crypto.randomUUID()];
  const projects = `${claude.home.config}/projects/-elsewhere`;
  await Deno.mkdir(projects, { recursive: true });
  for (const id of [taken, resumed]) await Deno.writeTextFile(`${projects}/${id}.jsonl`, "{}\n");
  for (const more of [[], ["--resume", resumed, "--fork-session"]]) {
    const { code, stderr } = await claude.printHere([
      "--session-id",
      taken,
      ...more,
      "--",
      "hello",
    ]);
    assertEquals(code, 1);
    assertMatch(
      stderr,
      /^claude-print: Error: Session ID \S+ is already in use\.\n {2}Give another/,
    );
  }
  assertEquals(await Deno.readTextFile(`${projects}/${taken}.jsonl`), "{}\n");
});

Deno.test("where files are not restored, what to do follows from what Claude Code says of it", async () => {
  await using claude = await StandIn.set();
  const [session, message] = [crypto.randomUUID(), crypto.randomUUID()];
  const projects = `${claude.home.config}/projects/-elsewhere`;
  await Deno.mkdir(projects, { recursive: true });
  await Deno.writeTextFile(`${projects}/${session}.jsonl`, "{}\n");
  const binary = `${claude.home.path}/headless`;
  for (
    const [why, remedy] of [
      [
        "Failed to rewind: No files were restored: 1 file failed (backup missing, or the file could not be updated)",
        /with git/u,
      ],
      ["Failed to rewind: No file checkpoint found for this message.", /by the uuid/u],
      [
        `--rewind-files requires a user message UUID, but ${message} is not a user message`,
        /by the uuid/u,
      ],
      ["File rewinding is not enabled.", /CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING=1/u],
    ] as const
  ) {
    const version = 'case "$*" in *--version*) echo "2.1.332 (Claude Code)"; exit;; esac';
    await writeScript(binary, `#!/bin/sh\n${version}\necho "Error: ${why}" >&2\nexit 1\n`);
    const args = ["--claude-binary", binary, "--resume", session, "--rewind-files", message];
    const { code, stderr } = await claude.print(args, { namesBinary: false });
    const [said, suggestion = "", ...more] = stderr.split("\n");
    assertEquals([code, said, more], [1, `claude-print: Error: ${why}`, [""]]);
    assertMatch(suggestion, remedy);
  }
});

Deno.test("a conversation whose initialization is refused carries out no message", async () => {
  await using claude = await StandIn.set({ turns: [[{ text: "Done." }]] });
  // Whoever sends it may take no notice of the answer.
  const hooks = { PreToolUse: [{ matcher: "Bash", hookCallbackIds: "guard" }] };
  const lines = [
    { type: "control_request", request_id: "i", request: { subtype: "initialize", hooks } },
    { type: "user", message: { role: "user", content: "one" } },
  ];
  const { code, stdout, stderr } = await claude.print(
    ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"],
    { stdin: lines.map((line) => `${JSON.stringify(line)}\n`).join("") },
  );
  const why = '"hooks" of PreToolUse need "hookCallbackIds"';
  assertEquals(code, 2);
  assertMatch(stderr, /Cannot send the message: "hooks" of PreToolUse/);
  const frames = stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
  assertEquals(frames.map(({ type }) => type), ["control_response", "system", "result"]);
  assertEquals([frames[0].response.error, frames[2].errors], [
    why,
    [`Cannot send the message: ${why}`],
  ]);
});
