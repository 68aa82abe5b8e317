import { definedFields } from "../../../src/defined_fields.ts";
import { assertEquals, assertThrows } from "@std/assert";
import { CliError } from "../../../src/cli_error.ts";
import type { Plan } from "../../../src/run/plan/plan.ts";
import {
  argsOf,
  CONVERSATION,
  EARLIER,
  fileOf,
  flags,
  FOLDER,
  FRESH,
  initialized,
  isAnswered,
  local,
  NAMED,
  planOf,
  project,
  rule,
  SERVER,
  settingsOf,
  user,
} from "./plan_of.ts";

/** The session: its id, its names for the child, the transcript that is copied, and whether the id must be new. */
const sessionOf = (planned: Plan) => ({
  id: planned.sessionId,
  argument: argsOf(planned, "--session-id")[0],
  resumed: argsOf(planned, "--resume"),
  copied: planned.contents.resume,
  isNew: planned.contents.isNewSession,
});

const OWN = { id: FRESH, argument: FRESH, resumed: [], copied: undefined, isNew: false };
const RESUMED = { ...OWN, id: EARLIER, argument: undefined, resumed: [EARLIER], copied: EARLIER };
const FORK = { ...RESUMED, id: FRESH, argument: FRESH };
const LATEST = { resumption: { latest: true } };

rule("a session is new, named, resumed or a fork", sessionOf, [
  [OWN],
  // The caller's flags name it to the child.
  [{ ...OWN, id: NAMED, argument: NAMED, isNew: true }, {
    sessionId: NAMED,
    forwarded: [`--session-id=${NAMED}`],
  }],
  [RESUMED, { resume: EARLIER }],
  // Its child has died, and a later session is the latest by now.
  [
    RESUMED,
    { resume: EARLIER, ...LATEST, forwarded: [`--resume=${EARLIER}`] },
    { found: { latest: NAMED } },
  ],
  [FORK, { resume: EARLIER, forkSession: true }],
  [{ ...RESUMED, id: NAMED, isNew: true }, {
    resume: EARLIER,
    forkSession: true,
    sessionId: NAMED,
  }],
  [RESUMED, LATEST, { found: { latest: EARLIER } }],
  [FORK, { ...LATEST, forkSession: true }, { found: { latest: EARLIER } }],
  [RESUMED, { resumption: { latest: true, named: NAMED, upTo: "m" } }, {
    found: { latest: EARLIER },
  }],
  [OWN, LATEST],
  [RESUMED, { resumption: { latest: true, named: EARLIER } }, { found: { named: [EARLIER] } }],
  [{ ...OWN, id: NAMED, argument: undefined, isNew: true }, {
    ...LATEST,
    forkSession: true,
    sessionId: NAMED,
  }],
  [RESUMED, { resumption: { latest: false, named: "Title" } }, { found: { named: [EARLIER] } }],
]);

/** A prompt and its answer, and a second prompt. */
const LINES = [
  { type: "user", uuid: "p1", parentUuid: null, message: { content: "one" } },
  { type: "assistant", uuid: "a1", parentUuid: "p1", message: { id: "m1", content: [] } },
  { type: "user", uuid: NAMED, parentUuid: "a1", message: { content: "two" } },
].map((line) => `${JSON.stringify(line)}\n`);
const FIRST_TURN = LINES.slice(0, 2).join("");
const TRANSCRIPT = { path: `-w/${EARLIER}.jsonl`, text: LINES.join("") };
const FOUND = { found: { named: [EARLIER], transcript: TRANSCRIPT } };

const upTo = (message: string, more: { readonly dropsTurn?: string } = {}) => ({
  resumption: { latest: false, named: EARLIER, upTo: message, ...more },
});

rule(
  "a given transcript begins a session",
  (planned) => [sessionOf(planned), planned.contents.begun],
  [
    [[RESUMED, undefined], { resume: EARLIER }],
    [[RESUMED, TRANSCRIPT], { resume: EARLIER, history: TRANSCRIPT.text }, FOUND],
  ],
);

rule(
  "a transcript is shortened to the resumed message",
  (planned) => [sessionOf(planned), planned.contents.shortened?.text],
  [
    [[RESUMED, undefined], { resume: EARLIER }],
    [[RESUMED, FIRST_TURN], upTo("a1"), FOUND],
    [[RESUMED, FIRST_TURN], upTo("a1", { dropsTurn: NAMED }), FOUND],
    // After the death of its child, all of it is resumed.
    [[RESUMED, undefined], { ...upTo("a1"), resume: EARLIER }, FOUND],
    [[RESUMED, undefined], { resumption: { latest: true, named: NAMED, upTo: "a1" } }, {
      found: { latest: EARLIER },
    }],
    // The sandbox reports the missing transcript.
    [[RESUMED, undefined], upTo("a1"), { found: { named: [EARLIER] } }],
  ],
);

Deno.test("plan: a session that cannot be resumed is refused", () => {
  const titled = { resumption: { latest: false, named: "Title" } };
  const refusals: readonly (readonly [message: string, ...Parameters<typeof planOf>])[] = [
    [
      'Error: --resume requires a valid session ID or session title when used with --print. Usage: claude -p --resume <session-id|title>. Provided value "Title" is not a UUID and does not match any session title.',
      titled,
      { found: { named: [] } },
    ],
    [
      'Cannot resume a session: 2 sessions have the title "Title"',
      titled,
      { found: { named: [EARLIER, NAMED] } },
    ],
    ["No message found with message.uuid of: x", upTo("x"), FOUND],
    [
      'Cannot honour --resume-session-at: the message "p1" is not the end of an answer, and the interactive Claude Code adds to what ends elsewhere',
      upTo("p1"),
      FOUND,
    ],
    [
      `Resume rejected by --resume-drops-turn: more than the turn "${FRESH}" would be left out: the first of it is the user line ${NAMED}`,
      upTo("a1", { dropsTurn: FRESH }),
      FOUND,
    ],
  ];
  for (const [message, ...given] of refusals) {
    assertEquals(assertThrows(() => planOf(...given), CliError).message, message);
  }
});

const OURS = `${FOLDER}/own/debug.log`;
const USERS = `/u/.claude/debug/${FRESH}.txt`;

rule("a debug log holds what its readers need", (planned) =>
  definedFields({
    argument: argsOf(planned, "--debug-file")[0],
    level: planned.env["CLAUDE_CODE_DEBUG_LOG_LEVEL"],
    retries: planned.retryLog,
    mcp: planned.mcpLog,
    printed: planned.toldLog,
  }), [
  [{}],
  [{ argument: OURS, level: "warn", retries: OURS }, { retries: true }],
  [{ argument: OURS, level: "debug", mcp: OURS }, {}, {
    mcpServers: [SERVER, { ...SERVER, name: "t" }],
  }],
  [{ argument: USERS }, { debug: true }],
  [{ argument: `/u/.claude/debug/${EARLIER}.txt` }, { debug: true, resume: EARLIER }],
  [{ argument: USERS, retries: USERS }, { debug: true, retries: true }],
  // The caller's flags name the file to the child.
  [{}, { debugFile: "d.log" }],
  [
    { level: "debug", retries: "/w/inner/d.log", mcp: "/w/inner/d.log" },
    { debugFile: "d.log", retries: true },
    { mcpServers: [SERVER] },
  ],
  [{ retries: "/d.log" }, { debugFile: "/d.log", retries: true }],
  [{ level: "error" }, { env: { CLAUDE_CODE_DEBUG_LOG_LEVEL: "error" }, debugFile: "/d.log" }],
  // A log for stderr has every level.
  [{ argument: OURS, retries: OURS, printed: OURS }, { debugToStderr: true, retries: true }],
  [{ printed: "/w/inner/d.log" }, { debugToStderr: true, debug: true, debugFile: "d.log" }],
]);

const RENDEZVOUS = {
  path: `${FOLDER}/own/rv.sock`,
  secret: "s3cret",
  longPromptsPath: `${FOLDER}/own/long-prompts`,
};

rule("the prompt goes by stdin, a paste or the socket", (planned) => [
  planned.message?.way,
  [planned.contents.stdinPath, fileOf(planned, "own/prompt")],
  planned.rendezvous,
  [planned.env["CLAUDE_BG_RENDEZVOUS_SOCK"], planned.env["CLAUDE_BG_RV_AUTH"]],
], [
  [["stdin", [`${FOLDER}/own/prompt`, "hello there"], undefined, [undefined, undefined]]],
  [["paste", [undefined, undefined], undefined, [undefined, undefined]], { inject: "paste" }],
  // A message that is too long for the socket goes to the next child.
  [
    [undefined, [`${FOLDER}/own/prompt`, "long"], RENDEZVOUS, [RENDEZVOUS.path, "s3cret"]],
    { ...CONVERSATION, onStdin: "long" },
  ],
  [["rendezvous", [undefined, undefined], RENDEZVOUS, [RENDEZVOUS.path, "s3cret"]], {}, {
    gated: { expands: false, verbatim: true },
  }],
]);

const PRINTING = ["--input-format=stream-json", "--output-format=stream-json", "--verbose"];

rule("a headless helper answers a conversation and some prompts", ({ helper }) =>
  helper && {
    args: helper.args.slice(1),
    serverArgs: helper.serverArgs,
    configDir: helper.env["CLAUDE_CONFIG_DIR"],
    socket: helper.env["CLAUDE_BG_RENDEZVOUS_SOCK"],
    settings: helper.settings.values,
  }, [
  [undefined],
  [
    {
      args: [
        ...[...PRINTING, `--settings=${FOLDER}/own/helper.json`],
        ...["--permission-mode=default", "--model=opus"],
      ],
      serverArgs: [],
      configDir: `${FOLDER}/own/helper`,
      socket: undefined,
      settings: {},
    },
    { prompt: "/context", forwarded: ["--debug", "--model=opus"] },
    { gated: { expands: false, asked: { version: "2.1.330" } } },
  ],
  [
    {
      args: [
        ...[...PRINTING, `--settings=${FOLDER}/own/helper.json`],
        ...["--permission-mode=default", "--disallowedTools=X", "--model=opus"],
      ],
      serverArgs: [`--mcp-config=${FOLDER}/own/set-mcp.json`, "--mcp-config=mcp.json"],
      configDir: `${FOLDER}/own/helper`,
      socket: undefined,
      settings: { model: "m" },
    },
    {
      ...CONVERSATION,
      disallowedTools: ["X"],
      mcpConfigs: ["mcp.json"],
      callerServers: ["gone"],
      setServers: { mine: { type: "sdk" }, other: { command: "x" } },
      sessionId: NAMED,
      forwarded: ["--model=opus", "--mcp-config=mcp.json", `--session-id=${NAMED}`, "--name=N"],
    },
    { callerSettings: { model: "m" } },
  ],
]);

rule("a headless helper resumes what the child resumes", "helper.resumed", [
  [undefined, CONVERSATION],
  [EARLIER, { ...CONVERSATION, resume: EARLIER }],
  [EARLIER, { ...CONVERSATION, resume: EARLIER, forkSession: true }],
]);

const KEEPING = { CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING: "1" };

rule(
  "file checkpoints are kept with a kept session",
  ({ contents: { keepsBackups }, helper }) => [keepsBackups, helper !== undefined],
  [
    [[undefined, false]],
    [[true, false], { env: KEEPING }],
    [
      [undefined, false],
      { env: KEEPING },
      user({ env: { CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING: "0" } }),
    ],
    [[undefined, false], { env: KEEPING, persistSession: false }],
    [[true, true], { env: KEEPING, persistSession: false, prompt: "", rewindsTo: "m" }, {
      gated: { expands: false, rewinds: true },
    }],
  ],
);

rule(
  "the child's credentials get descriptors of its own",
  "env.CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR credentials.length helper.env.CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR",
  [[["3", 1, "7"], { ...CONVERSATION, env: { CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR: "7" } }, {
    credentials: [{ variable: "CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR", fd: 7, secret: "s" }],
  }]],
);

const turns = (limit: string) => ({ env: { CLAUDE_CODE_MAX_TURNS: limit } });

rule("a flag limits turns, then settings, then a variable", "session.maxTurns report.maxTurns", [
  [[2, 2], turns("2")],
  [[4, 4], turns("2"), user(turns("4"))],
  [[3, 3], { ...turns("2"), maxTurns: 3 }],
  // Claude Code itself names the mistake.
  [[undefined, undefined], turns("2.5")],
]);

const ceiling = (value: string) => ({ env: { CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS: value } });

rule("a variable limits the wait for background tasks", "session.backgroundCeilingMs", [
  [undefined],
  [1500, ceiling("1500")],
  [0, ceiling("0")],
  ...["-1", "1.5", ""].map((value) => [undefined, ceiling(value)] as const),
]);

const cron = (value: string) => ({ env: { CLAUDE_CODE_DISABLE_CRON: value } });

rule(
  "the caller or scheduled prompts of the project prevent wake-ups",
  "session.wakeless report.keptAsleep",
  [
    [[undefined, undefined]],
    [[true, undefined], cron("1")],
    [[undefined, undefined], cron("0")],
    [[true, true], {}, { scheduledTasks: true }],
    [[true, undefined], cron("1"), { scheduledTasks: true }],
  ],
);

rule(
  "the first request waits for MCP servers",
  (planned) => [planned.conversation.session.mcpServers, isAnswered(planned, "SessionStart")],
  [
    [[undefined, undefined]],
    [[undefined, false], { frames: true }],
    [[undefined, undefined], {}, { mcpServers: [{ ...SERVER, disabled: true }] }],
    [[2, true], {}, { mcpServers: [SERVER, { ...SERVER, name: "t" }] }],
    [[1, true], { resume: "s" }, { mcpServers: [SERVER] }],
  ],
);

const SERVERS = (["dynamic", "project"] as const).map((source) => ({
  ...SERVER,
  name: source,
  source,
}));

rule(
  "only reachable servers of the command line are awaited",
  ({ conversation: { session, frames } }) => [
    session.mcpServers,
    session.awaited,
    frames.servers?.filter(({ unreached }) => unreached).map(({ name }) => name),
  ],
  [
    [[2, ["dynamic"], []], {}, { mcpServers: SERVERS }],
    [[undefined, undefined, []], {}, {
      mcpServers: SERVERS.map((server) => ({ ...server, disabled: true })),
    }],
    [[2, undefined, ["dynamic"]], { unreached: ["dynamic"] }, { mcpServers: SERVERS }],
  ],
);

const hooks = (event: string) => ({ hooks: { [event]: [] } });

rule("Stop ends a turn unless another hook may continue it", "session.otherStopHooks", [
  [false],
  // The user's hooks are not read, their plugins are.
  [false, {}, user(hooks("Stop"))],
  [true, {}, user({ enabledPlugins: { p: true } })],
  [false, {}, user({ enabledPlugins: {} })],
  [true, {}, project(hooks("Stop"))],
  [false, {}, project(hooks("PreToolUse"))],
  [true, {}, flags(hooks("Stop"))],
  [true, initialized({ callbacks: [{ event: "Stop", id: "c" }] })],
  [false, initialized({ callbacks: [{ event: "PreToolUse", id: "c" }] })],
  ...["--agent=a", "--agents={}", "--plugin-dir=p"].map((flag) =>
    [true, { forwarded: [flag] }] as const
  ),
]);

rule(
  "Stop waits for an answer where a turn may continue",
  (planned) => isAnswered(planned, "Stop"),
  [
    [false],
    [true, CONVERSATION],
    [false, { answerAlone: true }],
    [false, { ...CONVERSATION, answerAlone: true }],
    [true, { ...CONVERSATION, answerAlone: true }, {
      output: { schema: {}, problemsOf: () => [] },
    }],
    [false, { maxTurns: 3 }],
    [true, { maxTurns: 3 }, project(hooks("Stop"))],
  ],
);

rule("an exit waits for programs that end with the child", "endsAlone", [
  [true, {}, project(hooks("Stop"))],
  [false, {}, project(hooks("SessionEnd"))],
  [true, {}, user(hooks("SessionEnd"))],
  [false, { inheritHooks: true }, user(hooks("SessionEnd"))],
  [false, {}, user({ enabledPlugins: { p: true } })],
  [false, { forwarded: ["--plugin-dir=/p"] }],
  [false, {}, { mcpServers: [SERVER] }],
]);

rule("project settings beyond hooks need trust", "session.needsTrust", [
  [undefined],
  [undefined, {}, user({ model: "m" })],
  [undefined, {}, project({ $schema: "s", hooks: {} })],
  [true, {}, project({ hooks: {}, permissions: { allow: ["Bash"] } })],
  [true, {}, local({ env: {} })],
]);

rule("a chosen set of skills makes the Skill tool ask", (planned) => [
  settingsOf(planned).hooks.PreToolUse?.map(({ matcher }: { matcher?: string }) => matcher),
  planned.conversation.session.skills,
], [
  [[undefined, undefined]],
  [[["Skill"], ["a"]], initialized({ skills: ["a"] })],
  // A budget is for all tools.
  [[[undefined], []], { ...initialized({ skills: [] }), maxBudgetUsd: 1 }],
]);
