import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import fc from "fast-check";
import { findFlag, FLAGS } from "../../../src/cli/arguments/flags.ts";
import { parseListLine, readListInput } from "../../../src/cli/arguments/check_prompt.ts";
import { parseArguments } from "../../../src/cli/arguments/parse_arguments.ts";
import { CliError } from "../../../src/cli_error.ts";
import {
  argumentsOf,
  errorOf,
  FRAMES,
  ID,
  requestOf,
  STREAMS,
  testErrors,
  testRequests,
} from "./command_line.ts";

const DEFAULTS = {
  ignoredArguments: [],
  jsonl: false,
  oneSession: false,
  inputFormat: "text",
  replayMessages: false,
  asksCaller: false,
  partialMessages: false,
  subagentText: false,
  hookEvents: false,
  sessionMirror: false,
  inheritHooks: false,
  authStatus: false,
  streamText: false,
  exactStream: false,
  deterministic: false,
  outputFormat: "text",
  verbose: false,
  omitsThinking: true,
  persistSession: true,
  trace: false,
  timeoutMs: 3_600_000,
  startTimeoutMs: 120_000,
  deliveryTimeoutMs: 300_000,
  drainTimeoutMs: 10_000,
  exitTimeoutMs: 6000,
  quiet: false,
  cold: false,
  warm: false,
  show: false,
  progress: false,
  inject: "stdin",
  disallowedTools: [],
  dangerouslySkipPermissions: false,
  addDirs: [],
  mcpConfigs: [],
  strictMcpConfig: false,
  forkSession: false,
  debug: false,
  debugToStderr: false,
  betas: [],
  forwarded: [],
};

Deno.test("a bare prompt has the defaults of claude -p", async () => {
  assertEquals(await requestOf("-p hello"), { ...DEFAULTS, promptArgument: "hello" } as never);
  assertEquals((await requestOf("")).promptArgument, undefined);
});

const FORWARDED = [
  ...["--setting-sources=user,local", "--dangerously-skip-permissions", "--strict-mcp-config"],
  ...["--allow-dangerously-skip-permissions", `--session-id=${ID}`, "--fork-session"],
  ...["--model=opus", "--debug-file=d.log", "--allowedTools=A", "--add-dir=C", "--mcp-config=D"],
  "--project-config-root=P",
];

Deno.test("flags fill their fields", async () => {
  const line =
    `--output-format json --verbose --no-session-persistence --trace --timeout 1.5 --inject paste ` +
    `--claude-binary /bin/claude --settings {} --permission-mode plan ${
      FORWARDED.slice(0, 5).join(" ")
    } --resume ${ID} --fork-session --model opus --debug-file d.log --input-file p.md ` +
    "--start-timeout 2 --delivery-timeout 3 --idle-timeout 4 --drain-timeout 5 --exit-timeout 9 " +
    "--max-turns 7 --quiet --show --record r --allowedTools A --disallowedTools B --add-dir C " +
    "--mcp-config D --betas E F --betas G --task-budget 20000 --debug-to-stderr " +
    "--max-budget-usd 0.5 --json-schema {} --project-config-root P";
  const { omitsThinking: _, ...defaults } = DEFAULTS;
  assertEquals(
    await requestOf(line),
    {
      ...defaults,
      inputFile: "p.md",
      record: "r",
      misplacedPrompt: { flag: "--betas", text: "F" },
      outputFormat: "json",
      verbose: true,
      persistSession: false,
      trace: true,
      timeoutMs: 1500,
      startTimeoutMs: 2000,
      deliveryTimeoutMs: 3000,
      idleTimeoutMs: 4000,
      drainTimeoutMs: 5000,
      exitTimeoutMs: 9000,
      quiet: true,
      show: true,
      maxTurns: 7,
      maxBudgetUsd: 0.5,
      jsonSchema: "{}",
      inject: "paste",
      claudeBinary: "/bin/claude",
      settings: "{}",
      permissionMode: "plan",
      disallowedTools: ["B"],
      settingSources: "user,local",
      projectConfigRoot: "P",
      dangerouslySkipPermissions: true,
      addDirs: ["C"],
      mcpConfigs: ["D"],
      strictMcpConfig: true,
      sessionId: ID,
      resume: ID,
      forkSession: true,
      model: "opus",
      debug: true,
      debugFile: "d.log",
      debugToStderr: true,
      betas: ["E", "F", "G"],
      taskBudget: 20_000,
      forwarded: FORWARDED,
    } as never,
  );
});

Deno.test("--help and --version win over a run", async () => {
  const rows = [
    ["--help", { kind: "help" }],
    ["-h", { kind: "help", short: true }],
    ["--nonsense --timeout x --help", { kind: "help" }],
    ["--version", { kind: "version", short: false }],
    ["-v", { kind: "version", short: true }],
    ["-pv", { kind: "version", short: true }],
  ] as const;
  for (const [line, parsed] of rows) {
    assertEquals(await parseArguments(argumentsOf(line)), parsed, line);
  }
});

testRequests("values that look like flags belong to their flag", [
  ["-- --help", { promptArgument: "--help" }],
  ["--model --help", { model: "--help" }],
  [["--append-system-prompt", "- be brief"], { forwarded: ["--append-system-prompt=- be brief"] }],
  [["--system-prompt", ""], { forwarded: ["--system-prompt="] }],
  [["--system-prompt=a=b\n--c"], { forwarded: ["--system-prompt=a=b\n--c"] }],
]);

testRequests("a variadic flag takes arguments up to the next flag", [
  ["--allowedTools A B -p hi", {
    forwarded: ["--allowedTools=A", "--allowedTools=B"],
    promptArgument: "hi",
  }],
  ["-p --allowed-tools Bash hi", {
    forwarded: ["--allowedTools=Bash", "--allowedTools=hi"],
    promptArgument: undefined,
  }],
  ["--allowedTools A - -- hi", {
    forwarded: ["--allowedTools=A", "--allowedTools=-"],
    promptArgument: "hi",
  }],
  ["--allowedTools=A hi", { forwarded: ["--allowedTools=A"], promptArgument: "hi" }],
  ["--allowedTools --verbose B", {
    forwarded: ["--allowedTools=--verbose", "--allowedTools=B"],
    verbose: false,
  }],
  ["--allowedTools A --allowed-tools=B,C", {
    forwarded: ["--allowedTools=A", "--allowedTools=B,C"],
  }],
  [["--tools", "", "--", "hi"], { forwarded: ["--tools="] }],
]);

Deno.test("half a million arguments are read", async () => {
  const words = Array.from({ length: 500_000 }, () => "hi");
  for (const first of ["--allowedTools", "--"]) {
    assertEquals((await parseArguments([first, ...words])).kind, "run");
  }
});

testRequests("an optional value does not look like a flag", [
  ["-d hooks hi", { forwarded: ["--debug=hooks"], promptArgument: "hi" }],
  ["-d -p hi", { forwarded: ["--debug"], promptArgument: "hi" }],
  ["-dhooks", { forwarded: ["--debug=hooks"] }],
  ["hi --debug", { debug: true }],
  ["-w -- hi", { forwarded: ["--worktree"], promptArgument: "hi" }],
  [`-r${ID}`, { resume: ID }],
]);

testRequests("short flags can be joined", [
  ["-nme", { forwarded: ["--name=me"] }],
  ["-pnme hi", { forwarded: ["--name=me"], promptArgument: "hi" }],
  ["-pp hi", { promptArgument: "hi" }],
  ["-pc hi", { resumption: { latest: true } }],
]);

const part = { latest: false, named: ID, upTo: "m" };

testRequests("an id is resumed, anything else is looked up", [
  ["", { resume: undefined, resumption: undefined }],
  [`--reply-on-resume --resume ${ID}`, { resume: ID, resumption: undefined, forwarded: [] }],
  [["--resume", ` ${ID} `], { resume: ID }],
  ["hi --resume", { resumption: { latest: false, named: "" }, forwarded: [] }],
  [["--resume", " My title "], { resumption: { latest: false, named: "My title" } }],
  ["-c", { resumption: { latest: true }, forwarded: [] }],
  [`--continue --resume ${ID}`, { resumption: { latest: true, named: ID }, resume: undefined }],
  ["-c --resume", { resumption: { latest: true, named: "" } }],
  [`--resume ${ID} --resume-session-at=`, { resume: ID, resumption: undefined }],
  [`--resume ${ID} --resume-session-at m`, { resumption: part, resume: undefined, forwarded: [] }],
  [`--resume t --resume-session-at m --resume-drops-turn ${ID}`, {
    resumption: { ...part, named: "t", dropsTurn: ID },
  }],
]);

testRequests("the first prompt counts", [
  ["a -p b -- -c", { promptArgument: "a", ignoredArguments: ["b", "-c"] }],
  ["-p -", { promptArgument: "-" }],
  [["-p", ""], { promptArgument: "" }],
  ["-p doctor", { promptArgument: "doctor" }],
  ["-- sweep", { promptArgument: "sweep" }],
]);

const text = "fix the tests";

testRequests("a flag may have taken the prompt", [
  [["-p", "--allowedTools", "Bash", text], { misplacedPrompt: { flag: "--allowedTools", text } }],
  [["-p", "--add-dir", "..", text, "--tools", "Read"], {
    misplacedPrompt: { flag: "--add-dir", text },
  }],
  ["-p --allowedTools Bash,Read", { misplacedPrompt: undefined }],
  [["-p", text, "--allowedTools", "Bash Read"], { misplacedPrompt: undefined }],
  [["-p", "--model", text], { misplacedPrompt: undefined }],
]);

testRequests("the last use of a flag wins", [
  ["--model a --settings x --timeout 1 --brief --model b --settings y --timeout 2", {
    model: "b",
    settings: "y",
    timeoutMs: 2000,
    forwarded: ["--brief", "--model=b"],
  }],
  ["--plugin-dir=a --plugin-dir b", { forwarded: ["--plugin-dir=a", "--plugin-dir=b"] }],
  ["--settings {} --disallowed-tools A B --permission-mode manual --effort low", {
    settings: "{}",
    disallowedTools: ["A", "B"],
    permissionMode: "default",
    forwarded: ["--effort=low"],
  }],
  // As in `claude -p`, an empty id or empty settings are none.
  [["--session-id", ID, "--session-id=", "--settings", ""], {
    sessionId: undefined,
    settings: undefined,
    forwarded: [],
  }],
]);

Deno.test("only formats without thinking omit it", async () => {
  const [json, record] = ["-p --output-format json", "-p --record r"];
  for (const line of ["-p --verbose", json]) {
    assertEquals((await requestOf(line)).omitsThinking, true, line);
  }
  // A cassette has it in any format.
  for (const line of [`${json} --verbose`, `-p ${FRAMES}`, record, `${json} --api-cassette r`]) {
    assertEquals((await requestOf(line)).omitsThinking, undefined, line);
  }
});

testRequests("--shell-output takes its value after =", [
  ["x", { shellOutput: undefined }],
  [`--shell-output ${FRAMES}`, { shellOutput: "joined" }],
  [`--shell-output=split ${FRAMES} split`, { shellOutput: "split", promptArgument: "split" }],
  [`--shell-output split ${FRAMES}`, { shellOutput: "joined", promptArgument: "split" }],
  ["--shell-output --progress", { shellOutput: "joined", progress: true }],
]);

Deno.test("a caller who gets frames needs no format for --shell-output", async () => {
  const parsed = await parseArguments(["--shell-output"], { deliversFrames: true });
  assertEquals(parsed.kind === "run" && parsed.request.shellOutput, "joined");
});

const ASKED = `${STREAMS} --permission-prompt-tool=stdio --permission-prompts`;

testRequests("permission questions go to a tool, the caller or nowhere", [
  ["--permission-prompt-tool=mcp__a__b", {
    asksCaller: false,
    promptTool: "mcp__a__b",
    unattended: undefined,
  }],
  ["--permission-prompt-tool=", { promptTool: undefined }],
  ["--permission-prompt-tool=mcp__a__b --permission-prompts=none", {
    promptTool: undefined,
    unattended: true,
  }],
  [`${ASKED} host`, { asksCaller: true }],
  [`${ASKED} none`, { asksCaller: false }],
]);

testRequests("numbers are read as claude -p reads them", [
  ["--timeout 1", { timeoutMs: 1000 }],
  ["--timeout .25", { timeoutMs: 250 }],
  ["--timeout 0.001", { timeoutMs: 1 }],
  ["--timeout 2147483.647", { timeoutMs: 2147483647 }],
  ["--timeout 250ms", { timeoutMs: 250 }],
  ["--timeout 10s --start-timeout 5m", { timeoutMs: 10_000, startTimeoutMs: 300_000 }],
  ["--timeout 1.5h --idle-timeout=.5m", { timeoutMs: 5_400_000, idleTimeoutMs: 30_000 }],
  ["--wait-for-limit=100h", { waitForLimitMs: 360_000_000 }],
  ["--wait-for-limit hi", { promptArgument: "hi", waitForLimitMs: Infinity }],
  ["--wait-for-limit=1.5", { waitForLimitMs: 1500 }],
  ["hi", { waitForLimitMs: undefined }],
  ["--max-budget-usd 1e-3", { maxBudgetUsd: 0.001 }],
  ["--max-budget-usd Infinity", { maxBudgetUsd: undefined }],
  ["--task-budget 1 --task-budget 2", { taskBudget: 2 }],
  ["--max-turns 3", { maxTurns: 3 }],
  ...["0", "", "Infinity"].map((none) => [`--max-turns=${none}`, { maxTurns: undefined }] as const),
  ...["-1", "1.5", "1e1", " 2 "].map((odd) =>
    [[`--max-turns=${odd}`], { maxTurns: Number(odd) }] as const
  ),
]);

const WRONG: Readonly<Record<string, readonly string[]>> = {
  "--timeout": ["0", "-1", "0.0001", "", "1e3", "0x10", "Infinity", "NaN", "5 s", "5d", "2147484"],
  "--wait-for-limit": ["0", "-1", "soon"],
  "--max-budget-usd": ["0", "-1", "abc", "", "5 usd"],
  "--task-budget": ["0", "-5", "1.5", "abc", ""],
  "--max-turns": ["x", "1x"],
  "--output-format": ["xml"],
  "--inject": [""],
  "--permission-mode": ["no"],
  "--shell-output": ["both"],
};

testErrors("a flag refuses values it does not know", [
  ...Object.entries(WRONG).flatMap(([flag, values]) =>
    values.map((value) => [[`${flag}=${value}`], `${flag} does not take "${value}"`] as const)
  ),
  ["--model", "--model needs a value"],
  ["--tools", "--tools needs a value"],
  ["--verbose=1", "--verbose takes no value"],
  ["--setting-sources user,none", '--setting-sources does not take "none"'],
  ["--session-id x", "Error: Invalid session ID. Must be a valid UUID."],
]);

const REWIND = `--resume ${ID} --rewind-files ${ID}`;
const WITH_PROMPT =
  "Error: --rewind-files is a standalone operation and cannot be used with a prompt";
const NEEDS_FORK = "Error: --session-id with --continue or --resume also needs --fork-session.";
const NEEDS_FRAMES = "needs --output-format=stream-json";
const NEEDS_SIGHT = "needs --progress or --output-format=stream-json";

testErrors("flags that contradict each other are refused", [
  [`--session-id ${ID} -r ${ID}`, NEEDS_FORK],
  [`--session-id ${ID} -c`, NEEDS_FORK],
  [
    "--resume /t/s.jsonl",
    'Cannot honour --resume: "/t/s.jsonl" is a file, not a session id or a title',
  ],
  [
    "--resume https://claude.example/s",
    'Cannot honour --resume: "https://claude.example/s" is an address, not a session id or a title',
  ],
  [`-c --resume-session-at ${ID}`, "Error: --resume-session-at requires --resume"],
  [`--resume ${ID} --resume-drops-turn ${ID}`, "--resume-drops-turn needs --resume-session-at"],
  [
    `--resume ${ID} --resume-session-at ${ID} --resume-drops-turn x`,
    '--resume-drops-turn "x" is not a UUID',
  ],
  [`-c --rewind-files ${ID}`, "Error: --rewind-files requires --resume"],
  ...["hello", "--jsonl", STREAMS].map((more) => [`${REWIND} ${more}`, WITH_PROMPT] as const),
  ["--output-format stream-json", "--output-format=stream-json needs --verbose"],
  ["--warm --cold", "--warm does not go with --cold"],
  ["--warm --jsonl", "--warm does not go with --jsonl"],
  ["--shell-output", `--shell-output ${NEEDS_SIGHT}`],
  ["--shell-output --output-format=json --verbose", `--shell-output ${NEEDS_SIGHT}`],
  ["--shell-output --jsonl", `--shell-output ${NEEDS_SIGHT}`],
  ["--progress --jsonl", "--progress goes with text, not json"],
  [`--progress ${FRAMES}`, "--progress goes with text, not stream-json"],
  ["--input-format=stream-json", `--input-format=stream-json ${NEEDS_FRAMES}`],
  [
    `${STREAMS} --jsonl --output-format=json`,
    "--input-format=stream-json reads stdin, and --jsonl too",
  ],
  [`${STREAMS} --input-file=x`, "--input-format=stream-json reads stdin, and --input-file too"],
  [
    "--replay-user-messages",
    "--replay-user-messages needs --input-format=stream-json and --output-format=stream-json",
  ],
  ["--forward-subagent-text --output-format=json", `--forward-subagent-text ${NEEDS_FRAMES}`],
  ["--include-partial-messages", `--include-partial-messages ${NEEDS_FRAMES}`],
  [`--stream-text ${FRAMES}`, "--stream-text prints text, not stream-json"],
  ["--stream-text --jsonl", "--stream-text prints text, not json"],
  ["--exact-stream", "--exact-stream needs --include-partial-messages or --stream-text"],
  ...["--no-session-persistence", "--record=r", STREAMS, "--jsonl --one-session"].map((other) =>
    [
      `--wait-for-limit ${other}`,
      `--wait-for-limit goes on with the session of a run, which ${
        other.split(" ").at(other.startsWith("--jsonl") ? 1 : 0)?.replace("=r", "")
      } does not allow`,
    ] as const
  ),
  ["--one-session", "--one-session needs --jsonl"],
  ["--on-miss record", "--on-miss needs --api-cassette"],
  ["--allow-upstream", "--allow-upstream needs --api-cassette"],
  [`--jsonl --session-id ${ID}`, "--jsonl with --session-id gives every run the same id"],
  ["--jsonl --output-format text", "--jsonl prints json, not text"],
  [`--jsonl ${FRAMES}`, "--jsonl prints json, not stream-json"],
  ["--jsonl --record x", "--record takes one run, and --jsonl makes many"],
  // The first of several mistakes is reported.
  ["--cloud 3 --bogus", `Cannot honour --cloud: ${reasonOf("--cloud")}`],
  ["--bogus --cloud 3", "unknown flag --bogus"],
]);

function reasonOf(name: string): string {
  const flag = findFlag(name);
  return flag?.class === "refused" ? flag.reason : "";
}

testRequests("a cassette of the API fails on a miss unless told", [
  ["hi", { apiCassette: undefined }],
  ["--api-cassette x", { apiCassette: { folder: "x", onMiss: "fail", allowUpstream: false } }],
  ["--api-cassette x --on-miss record --allow-upstream", {
    apiCassette: { folder: "x", onMiss: "record", allowUpstream: true },
  }],
]);

testRequests("a shim names the claude that it stands for", [
  ["--shim-for /c", { claudeBinary: "/c", isShimmed: true }],
  ["--shim-for /c --claude-binary /d", { claudeBinary: "/d", isShimmed: true }],
]);

testRequests("a conversation reads and prints stream-json", [
  [`${STREAMS} --replay-user-messages`, { inputFormat: "stream-json", replayMessages: true }],
]);

/** Values of flags that do not take an "x", and what some flags need beside them. */
const VALUES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ["--max-turns", "--task-budget", "--max-budget-usd", "--wait-for-limit", "--timeout"]
      .concat(["start", "delivery", "idle", "drain", "exit"].map((each) => `--${each}-timeout`))
      .map((flag) => [flag, "5"]),
  ),
  ...{ "--session-id": ID, "--resume": ID, "--resume-drops-turn": ID, "--agents": "{}" },
  ...{ "--setting-sources": "user", "--permission-prompt-tool": "stdio" },
};
const BESIDE: Readonly<Record<string, string>> = {
  "--exact-stream": "--stream-text",
  "--on-miss": "--api-cassette x",
  "--allow-upstream": "--api-cassette x",
  "--include-partial-messages": STREAMS,
  "--forward-subagent-text": STREAMS,
  "--one-session": "--jsonl",
  "--shell-output": FRAMES,
  "--replay-user-messages": STREAMS,
  "--resume-session-at": `--resume ${ID}`,
  "--resume-drops-turn": `--resume ${ID} --resume-session-at ${ID}`,
  "--rewind-files": `--resume ${ID}`,
};

Deno.test("flags that work forward their class alone", async () => {
  for (const flag of FLAGS) {
    if (flag.class === "refused" || flag.name === "--help" || flag.name === "--version") continue;
    const value = VALUES[flag.name] ?? flag.choices?.[0] ?? "x";
    const token = flag.value === "none" ? flag.name : `${flag.name}=${value}`;
    const { forwarded } = await requestOf(`${token} ${BESIDE[flag.name] ?? ""}`);
    assertEquals(forwarded, flag.class === "forwarded" ? [token] : [], flag.name);
  }
});

Deno.test("a refused flag is named, with and without a value", async () => {
  for (const flag of FLAGS) {
    if (flag.class !== "refused") continue;
    const spellings = [flag.name, ...flag.aliases, `${flag.name}=x`];
    for (const spelling of spellings) {
      const { message, suggestion } = await errorOf(`-p hi ${spelling}`);
      assertEquals([message, suggestion], [
        `Cannot honour ${flag.name}: ${flag.reason}`,
        "Leave it out",
      ]);
    }
  }
});

Deno.test("a flag without effect is reported once", async () => {
  const flag = "--exclude-dynamic-system-prompt-sections";
  assertEquals((await requestOf(`${flag} ${flag}`)).ineffective, [
    `${flag} has no effect: the interactive Claude Code always puts these sections into its system prompt`,
  ]);
  assertEquals((await requestOf("")).ineffective, undefined);
});

Deno.test("an input of a list is a prompt with flags", () => {
  assertEquals(readListInput("two\nlines"), { prompt: "two\nlines", args: [] });
  const args = ["--model", "haiku"];
  assertEquals(readListInput({ id: 7, prompt: "hello", args }), { prompt: "hello", args });
  const refused = {
    "hello": "it is not JSON",
    "null": "it has no prompt",
    "[1]": "it has no prompt",
    '{"prompt": 1}': "it has no prompt",
    '{"prompt": "x", "args": "--model"}': 'its "args" are not a list of strings',
  };
  for (const [line, why] of Object.entries(refused)) {
    const read = () => readListInput(parseListLine(line));
    assertEquals(assertThrows(read, CliError).message, `Cannot read the line: ${why}`);
  }
});

Deno.test("flags of a list's input count as typed last", async () => {
  const { jsonl, outputFormat } = await requestOf("--jsonl");
  assertEquals([jsonl, outputFormat], [true, "json"]);
  const list = ["--jsonl", "--model", "opus", "--allowedTools", "Bash", "--", "Sum up:"];
  const { promptArgument, forwarded } = await requestOf(list, ["--model", "haiku"]);
  assertEquals(promptArgument, "Sum up:");
  assertEquals(forwarded, ["--allowedTools=Bash", "--model=haiku"]);
  assertEquals((await requestOf("--jsonl", ["--session-id", ID])).sessionId, ID);
  for (const flag of ["--jsonl", "--input-file x", "--output-format=text", "hello"]) {
    assertStringIncludes(
      (await errorOf("--jsonl", flag.split(" "))).message,
      'its "args" cannot take',
    );
  }
});

/** Uses of forwarded flags with free values. */
const forwardedUse = fc.constantFrom(
  ...FLAGS.filter((flag) =>
    flag.class === "forwarded" && flag.choices === undefined && flag.value !== "optional" &&
    !["--session-id", "--setting-sources", "--agents"].includes(flag.name)
  ),
).chain((flag) =>
  (flag.value === "none" ? fc.constant(undefined) : fc.string({ maxLength: 8 }))
    .map((value) => ({ flag, value }))
);

Deno.test("flags are forwarded in order, joined by = or not", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(forwardedUse, { maxLength: 12 }), async (uses) => {
      const joined = uses.map(({ flag, value }) =>
        value === undefined ? flag.name : `${flag.name}=${value}`
      );
      const apart = uses.flatMap(({ flag, value }) =>
        value === undefined ? [flag.name] : [flag.name, value]
      );
      const expected = joined.filter((_, index) =>
        uses[index]?.flag.repeatable === true ||
        !uses.slice(index + 1).some((later) => later.flag === uses[index]?.flag)
      );
      const first = await requestOf([...joined, "--", "prompt"]);
      assertEquals(first.forwarded, expected);
      assertEquals(await requestOf([...apart, "--", "prompt"]), first);
    }),
    { numRuns: 40 },
  );
});

Deno.test("no unknown flag passes", async () => {
  const unknown = fc.stringMatching(/^--?[a-zA-Z][a-zA-Z0-9-]{1,12}$/).filter((flag) =>
    findFlag(flag) === undefined &&
    (flag.startsWith("--") || findFlag(flag.slice(0, 2)) === undefined)
  );
  await fc.assert(
    fc.asyncProperty(unknown, fc.boolean(), async (flag, valued) => {
      const error = await errorOf(["-p", "hi", valued ? `${flag}=1` : flag]);
      assertEquals(error.message, `unknown flag ${flag}`);
    }),
    { numRuns: 20 },
  );
});

Deno.test("arguments after -- are prompts", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.string(), { minLength: 1 }), async (operands) => {
      const request = await requestOf(["--model=a", "--", ...operands]);
      assertEquals([request.promptArgument, ...request.ignoredArguments], operands);
    }),
    { numRuns: 40 },
  );
});
