import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import { CliError } from "../../src/cli_error.ts";
import { findFlag, FLAGS } from "../../src/cli/flags.ts";
import { parseArguments } from "../../src/cli/parse_arguments.ts";
import type { RunRequest } from "../../src/cli/run_request.ts";

const ID = "123e4567-e89b-42d3-a456-426614174000";

async function requestOf(...argv: readonly string[]): Promise<RunRequest> {
  const parsed = await parseArguments(argv);
  if (parsed.kind !== "run") throw new Error(`not a run but ${parsed.kind}`);
  return parsed.request;
}

/** The error a command line gives, which must be a usage error with a suggestion. */
async function errorOf(...argv: readonly string[]): Promise<CliError> {
  const error = await assertRejects(() => parseArguments(argv), CliError);
  assertEquals(error.exitCode, 2);
  assert((error.suggestion ?? "").length > 3, `no suggestion: ${error.message}`);
  // As it ends in the words of `claude -p`.
  const isOurs = !error.message.startsWith("Error: ");
  assert(!isOurs || !error.message.endsWith("."), error.message);
  return error;
}

Deno.test("parseArguments knows which formats print nothing of what the model thinks", async () => {
  const json = ["--output-format", "json"];
  const frames = ["--output-format", "stream-json", "--verbose"];
  const omits = await Promise.all(
    [
      ...[["--verbose"], json, [...json, "--verbose"], frames],
      ...[["--record", "r"], ["--api-cassette", "r"], [...json, "--record", "r"]],
    ].map(async (flags) => (await requestOf("-p", ...flags, "hello")).omitsThinking),
  );
  assertEquals(omits.slice(0, 4), [true, true, undefined, undefined]);
  // What is recorded and what is played is asked for alike.
  assertEquals(omits.slice(4), [undefined, undefined, undefined]);
});

Deno.test("parseArguments gives the defaults of claude -p for a bare prompt", async () => {
  assertEquals(await requestOf("-p", "hello"), {
    promptArgument: "hello",
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
    show: false,
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
  });
  assertEquals((await requestOf()).promptArgument, undefined);
});

Deno.test("parseArguments fills every field that has a flag", async () => {
  const argv = [
    ..."--output-format json --verbose --no-session-persistence --trace --timeout 1.5".split(" "),
    ..."--inject paste --claude-binary /bin/claude --settings {} --permission-mode plan".split(" "),
    ..."--setting-sources user,local --dangerously-skip-permissions --strict-mcp-config".split(" "),
    ..."--allow-dangerously-skip-permissions --session-id".split(" "),
    ID,
    ..."--resume".split(" "),
    ID,
    ..."--fork-session --model opus --debug-file d.log --input-file p.md".split(" "),
    ..."--start-timeout 2 --delivery-timeout 3 --idle-timeout 4 --drain-timeout 5".split(" "),
    ..."--exit-timeout 9 --max-turns 7 --quiet --show --record r".split(" "),
    ..."--allowedTools A --disallowedTools B --add-dir C --mcp-config D".split(" "),
    ..."--betas E F --betas G --task-budget 20000 --debug-to-stderr".split(" "),
    ..."--max-budget-usd 0.5 --json-schema {} --project-config-root P".split(" "),
  ];
  assertEquals(await requestOf(...argv), {
    ignoredArguments: [],
    inputFile: "p.md",
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
    record: "r",
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
    cold: false,
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
    forwarded: [
      "--setting-sources=user,local",
      "--dangerously-skip-permissions",
      "--strict-mcp-config",
      "--allow-dangerously-skip-permissions",
      `--session-id=${ID}`,
      "--fork-session",
      "--model=opus",
      "--debug-file=d.log",
      "--allowedTools=A",
      "--add-dir=C",
      "--mcp-config=D",
      "--project-config-root=P",
    ],
  });
});

Deno.test("parseArguments tells help and the two kinds of version from a run", async () => {
  assertEquals(await parseArguments(["--help"]), { kind: "help" });
  assertEquals(await parseArguments(["-h"]), { kind: "help" });
  assertEquals(await parseArguments(["--version"]), { kind: "version", short: false });
  assertEquals(await parseArguments(["-v"]), { kind: "version", short: true });
  assertEquals(await parseArguments(["-pv"]), { kind: "version", short: true });
  assertEquals(await parseArguments(["--nonsense", "--timeout", "x", "--help"]), { kind: "help" });
  assertEquals((await requestOf("--", "--help")).promptArgument, "--help");
  assertEquals((await requestOf("--model", "--help")).model, "--help");
});

Deno.test("parseArguments lets a variadic flag take all up to the next flag or --", async () => {
  const tools = async (...argv: readonly string[]) => {
    const request = await requestOf(...argv);
    const named = request.forwarded.map((each) => /^--allowedTools=(.*)$/su.exec(each)?.[1]);
    return [named.filter((each) => each !== undefined), request.promptArgument];
  };
  assertEquals(await tools("--allowedTools", "A", "B", "-p", "hi"), [["A", "B"], "hi"]);
  assertEquals(await tools("-p", "--allowed-tools", "Bash", "hi"), [["Bash", "hi"], undefined]);
  assertEquals(await tools("--allowedTools", "A", "-", "--", "hi"), [["A", "-"], "hi"]);
  assertEquals(await tools("--allowedTools=A", "hi"), [["A"], "hi"]);
  assertEquals(await tools("--allowedTools", "--verbose", "B"), [["--verbose", "B"], undefined]);
  assertEquals(await tools("--allowedTools", "A", "--allowed-tools=B,C"), [
    ["A", "B,C"],
    undefined,
  ]);
  assertEquals((await requestOf("--tools", "", "--", "hi")).forwarded, ["--tools="]);
  // As many as a command line has room for.
  const words = Array.from({ length: 500_000 }, () => "hi");
  assertEquals((await parseArguments(["--allowedTools", ...words])).kind, "run");
  assertEquals((await parseArguments(["--", ...words])).kind, "run");
});

Deno.test("parseArguments gives an optional value only what does not look like a flag", async () => {
  assertEquals((await requestOf("-d", "hooks", "hi")).forwarded, ["--debug=hooks"]);
  assertEquals((await requestOf("-d", "-p", "hi")).forwarded, ["--debug"]);
  assertEquals((await requestOf("-dhooks")).forwarded, ["--debug=hooks"]);
  assertEquals((await requestOf("hi", "--debug")).debug, true);
  assertEquals((await requestOf("-w", "--", "hi")).forwarded, ["--worktree"]);
  assertEquals((await requestOf(`-r${ID}`)).resume, ID);
});

Deno.test("parseArguments takes a required value whatever it looks like", async () => {
  assertEquals((await requestOf("--append-system-prompt", "- be brief")).forwarded, [
    "--append-system-prompt=- be brief",
  ]);
  assertEquals((await requestOf("--system-prompt", "")).forwarded, ["--system-prompt="]);
  assertEquals((await requestOf("--system-prompt=a=b\n--c")).forwarded, [
    "--system-prompt=a=b\n--c",
  ]);
  assertEquals((await requestOf("-nme")).forwarded, ["--name=me"]);
});

Deno.test("parseArguments reads clustered short flags", async () => {
  assertEquals((await requestOf("-pnme", "hi")).forwarded, ["--name=me"]);
  assertEquals((await requestOf("-pp", "hi")).promptArgument, "hi");
  assertEquals((await requestOf("-pc", "hi")).resumption, { latest: true });
  assertStringIncludes((await errorOf("-pz", "hi")).message, "unknown flag -z");
});

Deno.test("parseArguments resumes an id as it is, and leaves to be looked up what is more than an id", async () => {
  const sessionOf = async (...args: string[]) => {
    const { resume, resumption, forwarded } = await requestOf(...args);
    assertEquals(forwarded, [], "the plan names it to the child");
    return resume ?? resumption;
  };
  assertEquals(await sessionOf(), undefined);
  assertEquals(await sessionOf("--reply-on-resume", "--resume", ID), ID);
  assertEquals(await sessionOf("--resume", ` ${ID} `), ID);
  assertEquals(await sessionOf("hi", "--resume"), { latest: false, named: "" });
  assertEquals(await sessionOf("--resume", " My title "), { latest: false, named: "My title" });
  assertEquals(await sessionOf("-c"), { latest: true });
  assertEquals(await sessionOf("--continue", "--resume", ID), { latest: true, named: ID });
  assertEquals(await sessionOf("-c", "--resume"), { latest: true, named: "" });
  assertEquals(await sessionOf("--resume", ID, "--resume-session-at="), ID);
  assertEquals(await sessionOf("--resume", ID, "--resume-session-at", "m"), {
    latest: false,
    named: ID,
    upTo: "m",
  });
  assertEquals(
    await sessionOf("--resume", "t", "--resume-session-at", "m", "--resume-drops-turn", ID),
    { latest: false, named: "t", upTo: "m", dropsTurn: ID },
  );
});

Deno.test("parseArguments uses the first prompt and reports the others", async () => {
  const request = await requestOf("a", "-p", "b", "--", "-c");
  assertEquals([request.promptArgument, request.ignoredArguments], ["a", ["b", "-c"]]);
  assertEquals((await requestOf("-p", "-")).promptArgument, "-");
  assertEquals((await requestOf("-p", "")).promptArgument, "");
});

Deno.test("parseArguments knows which value of a flag may have been meant as the prompt", async () => {
  const takenOf = async (...argv: readonly string[]) => (await requestOf(...argv)).takenPrompt;
  const text = "fix the tests";
  const flag = "--allowedTools";
  assertEquals(await takenOf("-p", flag, "Bash", text), { flag, text });
  assertEquals(await takenOf("-p", "--add-dir", "..", text, flag, "Read"), {
    flag: "--add-dir",
    text,
  });
  assertEquals(await takenOf("-p", flag, "Bash,Read"), undefined);
  assertEquals(await takenOf("-p", text, flag, "Bash Read"), undefined);
  assertEquals(await takenOf("-p", "--model", text), undefined);
});

Deno.test("parseArguments lets the last use of a flag that counts once win", async () => {
  const request = await requestOf(
    ..."--model a --settings x --timeout 1 --brief --model b --settings y --timeout 2".split(" "),
  );
  assertEquals([request.model, request.settings, request.timeoutMs], ["b", "y", 2000]);
  assertEquals(request.forwarded, ["--brief", "--model=b"]);
  assertEquals((await requestOf("--plugin-dir=a", "--plugin-dir", "b")).forwarded, [
    "--plugin-dir=a",
    "--plugin-dir=b",
  ]);
});

Deno.test("parseArguments keeps what it merges out of the forwarded flags", async () => {
  const request = await requestOf(
    ..."--settings {} --disallowed-tools A B --permission-mode manual --effort low".split(" "),
  );
  assertEquals(request.forwarded, ["--effort=low"]);
  assertEquals(
    [request.settings, request.disallowedTools, request.permissionMode],
    ["{}", ["A", "B"], "default"],
  );
});

Deno.test("parseArguments takes empty ids and settings for none, as claude -p does", async () => {
  const request = await requestOf("--session-id", ID, "--session-id=", "--settings", "");
  assertEquals([request.sessionId, request.settings, request.forwarded], [
    undefined,
    undefined,
    [],
  ]);
});

Deno.test("parseArguments refuses every refused flag by name, with and without a value", async () => {
  for (const flag of FLAGS) {
    if (flag.class !== "refused") continue;
    for (const spelling of [flag.name, ...flag.aliases]) {
      const error = await errorOf("-p", "hi", spelling);
      assertEquals(error.message, `Cannot honour ${flag.name}: ${flag.reason}`);
      assertEquals(error.suggestion, "Leave it out");
    }
    assertEquals(
      (await errorOf(`${flag.name}=x`)).message.split(":")[0],
      `Cannot honour ${flag.name}`,
    );
  }
});

const STREAMS = ["--input-format=stream-json", "--output-format=stream-json", "--verbose"];

/** What some flags make sense beside alone. */
const BESIDE: Readonly<Record<string, readonly string[]>> = {
  "--exact-stream": ["--stream-text"],
  "--on-miss": ["--api-cassette", "x"],
  "--allow-upstream": ["--api-cassette", "x"],
  "--include-partial-messages": STREAMS,
  "--forward-subagent-text": STREAMS,
  "--one-session": ["--jsonl"],
  "--shell-output": ["--output-format=stream-json", "--verbose"],
  "--replay-user-messages": STREAMS,
  "--resume-session-at": ["--resume", ID],
  "--resume-drops-turn": ["--resume", ID, "--resume-session-at", ID],
  "--rewind-files": ["--resume", ID],
};

Deno.test("parseArguments takes --shell-output where there are frames", async () => {
  const { shellOutput } = await requestOf("--shell-output", ...STREAMS.slice(1));
  assertEquals([shellOutput, (await requestOf("x")).shellOutput], ["joined", undefined]);
  // A prompt behind it is no value of it.
  const split = await requestOf("--shell-output=split", ...STREAMS.slice(1), "split");
  assertEquals([split.shellOutput, split.promptArgument], ["split", "split"]);
  const joined = await requestOf("--shell-output", "split", ...STREAMS.slice(1));
  assertEquals([joined.shellOutput, joined.promptArgument], ["joined", "split"]);
  assertStringIncludes((await errorOf("--shell-output=both")).message, 'does not take "both"');
  for (const args of [[], ["--output-format=json", "--verbose"], ["--jsonl"]]) {
    const { message, suggestion } = await errorOf("--shell-output", ...args);
    assertStringIncludes(message, "--shell-output needs --output-format=stream-json");
    assertStringIncludes(`${suggestion}`, "--verbose");
  }
  const parsed = await parseArguments(["--shell-output"], { givesFrames: true });
  assertEquals(parsed.kind === "run" && parsed.request.shellOutput, "joined");
});

Deno.test("parseArguments takes a conversation as claude -p does, on stdin and in stream-json alone", async () => {
  const { inputFormat, replayMessages } = await requestOf(...STREAMS, "--replay-user-messages");
  assertEquals([inputFormat, replayMessages], ["stream-json", true]);
  for (
    const [args, said] of [
      [
        ["--input-format=stream-json"],
        "--input-format=stream-json needs --output-format=stream-json",
      ],
      [[...STREAMS, "--jsonl", "--output-format=json"], "--jsonl too"],
      [[...STREAMS, "--input-file=x"], "--input-file too"],
      [["--replay-user-messages"], "--replay-user-messages needs --input-format=stream-json"],
      [
        ["--forward-subagent-text", "--output-format=json"],
        "--forward-subagent-text needs --output-format=stream-json",
      ],
      [
        ["--include-partial-messages"],
        "--include-partial-messages needs --output-format=stream-json",
      ],
      [["--stream-text", ...STREAMS.slice(1)], "--stream-text prints text, not stream-json"],
      [["--exact-stream"], "--exact-stream needs --include-partial-messages or --stream-text"],
      [["--stream-text", "--jsonl"], "--stream-text prints text, not json"],
    ] as const
  ) {
    assertStringIncludes((await errorOf(...args)).message, said);
  }
});

Deno.test("parseArguments accepts every flag that is not refused and forwards its class alone", async () => {
  const values: Readonly<Record<string, string>> = {
    "--start-timeout": "5",
    "--delivery-timeout": "5",
    "--idle-timeout": "5",
    "--drain-timeout": "5",
    "--exit-timeout": "5",
    "--timeout": "5",
    "--max-turns": "5",
    "--task-budget": "5",
    "--max-budget-usd": "5",
    "--wait-for-limit": "5",
    "--session-id": ID,
    "--resume": ID,
    "--resume-drops-turn": ID,
    "--setting-sources": "user",
    "--agents": "{}",
    "--permission-prompt-tool": "stdio",
  };
  for (const flag of FLAGS) {
    if (flag.class === "refused" || flag.name === "--help" || flag.name === "--version") continue;
    const value = values[flag.name] ?? flag.choices?.[0] ?? "x";
    const token = flag.value === "none" ? flag.name : `${flag.name}=${value}`;
    // Some flags make sense only beside others.
    const beside = BESIDE[flag.name] ?? [];
    const { forwarded } = await requestOf(token, ...beside);
    assertEquals(forwarded, flag.class === "forwarded" ? [token] : [], flag.name);
  }
});

Deno.test("parseArguments warns of a flag without effect once", async () => {
  const flag = "--exclude-dynamic-system-prompt-sections";
  assertEquals((await requestOf(flag, flag)).ineffective, [
    `${flag} has no effect: the interactive Claude Code always puts these sections into its system prompt`,
  ]);
  assertEquals((await requestOf()).ineffective, undefined);
});

Deno.test("parseArguments names an unknown flag and the nearest known one", async () => {
  const error = await errorOf("--outputformat=json");
  assertEquals(error.message, "Cannot read the command line: unknown flag --outputformat");
  assertEquals(
    error.suggestion,
    'Did you mean --output-format? "claude-print --help" lists all flags',
  );
  assertStringIncludes((await errorOf("--modle", "x")).suggestion ?? "", "--model?");
  assertStringIncludes((await errorOf("-output-format")).suggestion ?? "", "--output-format?");
  assertEquals((await errorOf("-x")).suggestion, '"claude-print --help" lists all flags');
});

Deno.test("parseArguments says how to send a prompt that begins with a dash", async () => {
  const error = await errorOf("- one\n- two");
  assertStringIncludes(error.suggestion ?? "", '"--" before the prompt');
  assertStringIncludes((await errorOf("--bogus=two words")).message, "unknown flag --bogus");
});

Deno.test("parseArguments has a sentence for each kind of wrong value", async () => {
  const messages: readonly (readonly [readonly string[], string])[] = [
    [["--model"], "Cannot read the command line: --model needs a value"],
    [["--tools"], "Cannot read the command line: --tools needs a value"],
    [["--verbose=1"], "Cannot read the command line: --verbose takes no value"],
    [
      ["--output-format", "xml"],
      'Cannot read the command line: --output-format does not take "xml"',
    ],
    [["--inject="], 'Cannot read the command line: --inject does not take ""'],
    [
      ["--permission-mode=no"],
      'Cannot read the command line: --permission-mode does not take "no"',
    ],
    [
      ["--setting-sources", "user,none"],
      'Cannot read the command line: --setting-sources does not take "none"',
    ],
    [["--session-id", "x"], "Error: Invalid session ID. Must be a valid UUID."],
    [
      ["--session-id", ID, "-r", ID],
      "Error: --session-id with --continue or --resume also needs --fork-session.",
    ],
    [
      ["--session-id", ID, "-c"],
      "Error: --session-id with --continue or --resume also needs --fork-session.",
    ],
    [
      ["--resume", "/t/s.jsonl"],
      'Cannot honour --resume: "/t/s.jsonl" is a file, not a session id or a title',
    ],
    [
      ["--resume", "https://claude.example/s"],
      'Cannot honour --resume: "https://claude.example/s" is an address, not a session id or a title',
    ],
    [
      ["-c", "--resume-session-at", ID],
      "Error: --resume-session-at requires --resume",
    ],
    [
      ["--resume", ID, "--resume-drops-turn", ID],
      "Cannot read the command line: --resume-drops-turn needs --resume-session-at",
    ],
    [
      ["--resume", ID, "--resume-session-at", ID, "--resume-drops-turn", "x"],
      'Cannot read the command line: --resume-drops-turn "x" is not a UUID',
    ],
    [["-c", "--rewind-files", ID], "Error: --rewind-files requires --resume"],
    ...[["hello"], ["--jsonl"], STREAMS].map((prompts) =>
      [
        ["--resume", ID, "--rewind-files", ID, ...prompts],
        "Error: --rewind-files is a standalone operation and cannot be used with a prompt",
      ] as const
    ),
    [
      ["--output-format", "stream-json"],
      "Cannot read the command line: --output-format=stream-json needs --verbose",
    ],
  ];
  for (const [argv, message] of messages) assertEquals((await errorOf(...argv)).message, message);
});

Deno.test("parseArguments takes a timeout in seconds and refuses nonsense", async () => {
  const timeout = async (value: string) => (await requestOf("--timeout", value)).timeoutMs;
  assertEquals(await timeout("1"), 1000);
  assertEquals(await timeout(".25"), 250);
  assertEquals(await timeout("0.001"), 1);
  assertEquals(await timeout("2147483.647"), 2147483647);
  for (
    const wrong of ["0", "-1", "0.0001", "", "1e3", "0x10", "Infinity", "NaN", "5s", "2147484"]
  ) {
    assertEquals(
      (await errorOf("--timeout", wrong)).message,
      `Cannot read the command line: --timeout does not take "${wrong}"`,
    );
  }
});

Deno.test("parseArguments takes a number of turns, 0 for no limit", async () => {
  const byTool = await requestOf("--permission-prompt-tool=mcp__a__b");
  assertEquals([byTool.asksCaller, byTool.promptTool], [false, "mcp__a__b"]);
  assertEquals((await requestOf("--permission-prompt-tool=")).promptTool, undefined);
  const silent = await requestOf("--permission-prompt-tool=mcp__a__b", "--permission-prompts=none");
  assertEquals([silent.promptTool, silent.unattended], [undefined, true]);
  assertEquals(byTool.unattended, undefined);
  const asked = [...STREAMS, "--permission-prompt-tool=stdio", "--permission-prompts"];
  assertEquals((await requestOf(...asked, "host")).asksCaller, true);
  assertEquals((await requestOf(...asked, "none")).asksCaller, false);
  assertEquals((await requestOf("--wait-for-limit", "hi")).promptArgument, "hi");
  assertEquals((await requestOf("--wait-for-limit")).waitForLimitMs, Infinity);
  assertEquals((await requestOf("--wait-for-limit=1.5")).waitForLimitMs, 1500);
  assertEquals((await requestOf("hi")).waitForLimitMs, undefined);
  for (const wrong of ["0", "-1", "soon"]) {
    assertEquals(
      (await errorOf(`--wait-for-limit=${wrong}`)).message,
      `Cannot read the command line: --wait-for-limit does not take "${wrong}"`,
    );
  }
  for (const other of [["--no-session-persistence"], ["--record=r"], STREAMS]) {
    assertStringIncludes(
      (await errorOf("--wait-for-limit", ...other)).message,
      `which ${other[0]?.replace("=r", "")} does not allow`,
    );
  }
  assertEquals((await requestOf("--max-budget-usd", "1e-3")).maxBudgetUsd, 0.001);
  assertEquals((await requestOf("--max-budget-usd", "Infinity")).maxBudgetUsd, undefined);
  for (const wrong of ["0", "-1", "abc", "", "5 usd"]) {
    assertEquals(
      (await errorOf(`--max-budget-usd=${wrong}`)).message,
      `Cannot read the command line: --max-budget-usd does not take "${wrong}"`,
    );
  }
  assertEquals((await requestOf("--task-budget", "1", "--task-budget", "2")).taskBudget, 2);
  for (const wrong of ["0", "-5", "1.5", "abc", ""]) {
    assertEquals(
      (await errorOf(`--task-budget=${wrong}`)).message,
      `Cannot read the command line: --task-budget does not take "${wrong}"`,
    );
  }
  assertEquals((await requestOf("--max-turns", "3")).maxTurns, 3);
  for (const none of ["0", "", "Infinity"]) {
    assertEquals((await requestOf("--max-turns", none)).maxTurns, undefined);
  }
  for (const odd of ["-1", "1.5", "1e1", " 2 "]) {
    assertEquals((await requestOf("--max-turns", odd)).maxTurns, Number(odd));
  }
  for (const wrong of ["x", "1x"]) {
    assertEquals(
      (await errorOf("--max-turns", wrong)).message,
      `Cannot read the command line: --max-turns does not take "${wrong}"`,
    );
  }
});

Deno.test("learn takes an executable and may only check", async () => {
  assertEquals(await parseArguments(["learn"]), { kind: "learn", options: { check: false } });
  assertEquals(await parseArguments(["learn", "--check", "--claude-binary", "/c"]), {
    kind: "learn",
    options: { check: true, claudeBinary: "/c" },
  });
});

Deno.test("parseArguments knows a command only as the very first argument", async () => {
  assertEquals(await parseArguments(["doctor", "--offline", "--claude-binary", "/c"]), {
    kind: "doctor",
    options: { offline: true, run: false, json: false, claudeBinary: "/c" },
  });
  assertEquals(await parseArguments(["doctor", "--run", "--json", "--claude-binary=/c"]), {
    kind: "doctor",
    options: { offline: false, run: true, json: true, claudeBinary: "/c" },
  });
  assertEquals(await parseArguments(["sweep"]), {
    kind: "sweep",
    options: { dryRun: false, json: false },
  });
  assertEquals(await parseArguments(["sweep", "--dry-run", "--json"]), {
    kind: "sweep",
    options: { dryRun: true, json: true },
  });
  assertEquals(await parseArguments(["drift", "a", "--sdk", "b", "--sdk=c", "--allow-empty"]), {
    kind: "drift",
    options: {
      paths: ["a"],
      json: false,
      allowEmpty: true,
      sdks: ["b", "c"],
      allowedTools: [],
    },
  });
  assertEquals(await parseArguments(["drift", "a", "b", "--json", "--input-name=c"]), {
    kind: "drift",
    options: {
      paths: ["a", "b"],
      json: true,
      allowEmpty: false,
      inputName: "c",
      allowedTools: [],
    },
  });
  const again = [
    ...["--against", "2.1.330", "--allowedTools", "Bash, Read", "--allowedTools=Edit"],
    ...["--allowedTools", " Grep Bash(git Task, Glob) Write"],
  ];
  assertEquals(await parseArguments(["drift", "a", "--no-sdk", ...again]), {
    kind: "drift",
    options: {
      paths: ["a"],
      json: false,
      allowEmpty: false,
      sdks: [],
      against: "2.1.330",
      allowedTools: ["Bash", "Read", "Edit", "Grep", "Bash(git Task, Glob)", "Write"],
    },
  });
  const between = ["--good", "2.1.285", "--bad=2.1.332"];
  const bisect = { json: false, good: "2.1.285", bad: "2.1.332", keep: false, allowedTools: [] };
  assertEquals(await parseArguments(["bisect", "a", ...between, "--allowedTools", "Bash,Read"]), {
    kind: "bisect",
    options: { ...bisect, paths: ["a"], allowedTools: ["Bash", "Read"] },
  });
  assertEquals(await parseArguments(["bisect", ...between, "--run", "a", "--keep", "--json"]), {
    kind: "bisect",
    options: { ...bisect, paths: [], run: "a", keep: true, json: true },
  });
  assertEquals(await parseArguments(["cassette", "replay", "x", "--split", "3"]), {
    kind: "cassette",
    options: { action: "replay", dir: "x", split: 3 },
  });
  assertEquals(await parseArguments(["cassette", "diff", "x", "y", "--json"]), {
    kind: "cassette",
    options: { action: "diff", dir: "x", other: "y", json: true },
  });
  const scrub = ["--prompts", "--name", "Acme", "--name=b", "--input-name", "i.jsonl"];
  assertEquals(await parseArguments(["cassette", "scrub", "x", "y", ...scrub]), {
    kind: "cassette",
    options: {
      action: "scrub",
      paths: ["x", "y"],
      inputName: "i.jsonl",
      prompts: true,
      answers: false,
      names: ["Acme", "b"],
    },
  });
  assertEquals(await parseArguments(["cassette", "lint", "a.jsonl", "b.jsonl"]), {
    kind: "cassette",
    options: { action: "lint", paths: ["a.jsonl", "b.jsonl"] },
  });
  assertEquals(await parseArguments(["cassette", "fork", "x", "--at=0"]), {
    kind: "cassette",
    options: { action: "fork", dir: "x", at: 0, prompts: [], flags: [] },
  });
  const fork = ["--at", "2", "--model=m", "--api-cassette=a", "--record=r"];
  const said = ["--prompt", "-x", "--prompt=y", "--", "--verbose"];
  assertEquals(await parseArguments(["cassette", "fork", "x", ...fork, ...said]), {
    kind: "cassette",
    options: {
      action: "fork",
      dir: "x",
      at: 2,
      prompts: ["-x", "y"],
      model: "m",
      apiCassette: "a",
      record: "r",
      flags: ["--verbose"],
    },
  });
  assertEquals(await parseArguments(["sweep", "-h"]), { kind: "help", command: "sweep" });
  assertEquals((await requestOf("-p", "doctor")).promptArgument, "doctor");
  assertEquals((await requestOf("--", "sweep")).promptArgument, "sweep");
});

Deno.test("parseArguments refuses what a command does not take", async () => {
  for (
    const [argv, message] of [
      [["doctor", "--dry-run"], 'doctor does not take "--dry-run"'],
      [["drift"], "drift needs a cassette, a tape or a folder of them"],
      [["drift", "a", "--sdk", "b", "--no-sdk"], "--sdk and --no-sdk were both given"],
      [["drift", "a", "--allowedTools", "Bash"], "--allowedTools needs --against"],
      [["bisect", "a"], "bisect needs --good and a version"],
      ...["../../x", "-x", "latest", "2.1.285\n", "2.1", ""].map((version) =>
        [
          ["bisect", "a", "--good", version],
          `--good "${version}" is no version`,
        ] as const
      ),
      [["bisect", "a", "--good=2.1.285", "--bad", "-x"], '--bad "-x" is no version'],
      ...[[], ["--run", ""], ["a", "--run", "b"]].map((rest) =>
        [
          ["bisect", "--good=2.1.285", ...rest],
          "bisect needs either a cassette or --run and a command",
        ] as const
      ),
      [
        ["bisect", "--good=2.1.285", "--run", "a", "--allowedTools", "Bash"],
        "--allowedTools goes with cassettes alone",
      ],
      [["cassette", "replay", "--json", "x"], 'cassette replay does not take "--json"'],
      [["cassette", "fork", "x"], "cassette fork needs --at and the last turn that stays"],
      ...["-1", "1.5", "last"].map((turn) =>
        [
          ["cassette", "fork", "x", `--at=${turn}`],
          `--at "${turn}" is no number of a turn`,
        ] as const
      ),
      [["cassette", "info", "--at", "1", "x"], 'cassette info does not take "--at"'],
      [["cassette", "lint"], "cassette lint needs a cassette, a tape or a folder of them"],
      [["cassette", "lint", "x", "--prompts"], 'cassette lint does not take "--prompts"'],
      [["cassette", "lint", "x", "--input-name=a/b"], '--input-name "a/b" is no name of a file'],
      [["cassette", "diff", "x"], "cassette diff needs the folders of two cassettes"],
      [["cassette", "svg", "--split", "1", "x"], 'cassette svg does not take "--split"'],
      ...["0", "-1", "1.5", "1e3", "1000001", ""].map((size) =>
        [
          ["cassette", "replay", "x", `--split=${size}`],
          `--split "${size}" is no number of bytes from 1 to 1000000`,
        ] as const
      ),
      [["sweep", "the floor"], 'sweep does not take "the floor"'],
      [["doctor", "--claude-binary"], "--claude-binary needs a value"],
    ] as const
  ) {
    const error = await errorOf(...argv);
    assertEquals(error.message, `Cannot read the command line: ${message}`);
    assertEquals([error.exitCode, error.suggestion === ""], [2, false]);
  }
});

Deno.test("parseArguments reports the first of several mistakes", async () => {
  assertStringIncludes((await errorOf("--cloud", "3", "--bogus")).message, "--cloud");
  assertStringIncludes((await errorOf("--bogus", "--cloud", "3")).message, "--bogus");
});

/** Uses of forwarded flags with free values, each as a token in `=` form. */
const forwardedToken = fc.constantFrom(
  ...FLAGS.filter((flag) =>
    flag.class === "forwarded" && flag.choices === undefined && flag.value !== "optional" &&
    !["--session-id", "--setting-sources", "--agents"].includes(flag.name)
  ),
).chain((flag) =>
  (flag.value === "none" ? fc.constant(undefined) : fc.string({ maxLength: 8 }))
    .map((value) => ({ flag, value }))
);

Deno.test("parseArguments forwards in the order typed, whether joined by = or not", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(forwardedToken, { maxLength: 12 }), async (uses) => {
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
      const first = await requestOf(...joined, "--", "prompt");
      assertEquals(first.forwarded, expected);
      assertEquals(await requestOf(...apart, "--", "prompt"), first);
    }),
  );
});

Deno.test("parseArguments lets no unknown flag pass", async () => {
  const unknown = fc.stringMatching(/^--?[a-zA-Z][a-zA-Z0-9-]{1,12}$/).filter((flag) =>
    findFlag(flag) === undefined &&
    (flag.startsWith("--") || findFlag(flag.slice(0, 2)) === undefined)
  );
  await fc.assert(
    fc.asyncProperty(unknown, fc.boolean(), async (flag, valued) => {
      const error = await errorOf("-p", "hi", valued ? `${flag}=1` : flag);
      assertEquals(error.message, `Cannot read the command line: unknown flag ${flag}`);
    }),
  );
});

Deno.test("parseArguments takes everything behind -- for prompts", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.string(), { minLength: 1 }), async (operands) => {
      const request = await requestOf("--model=a", "--", ...operands);
      assertEquals([request.promptArgument, ...request.ignoredArguments], operands);
    }),
  );
});
