import { assertEquals, assertThrows } from "@std/assert";
import { CliError } from "../../../src/cli_error.ts";
import {
  startingFields,
  withCallerServers,
  withInitialization,
} from "../../../src/run/plan/initialization.ts";
import { changedOrder, type GoneChild, nextOrder } from "../../../src/run/plan/next_order.ts";
import type { RunOrder } from "../../../src/run/plan/run_order.ts";
import type { ChildChanges, Ending } from "../../../src/conversation/control/effect.ts";
import { PLAIN_ORDER } from "../plain_order.ts";

/** What an `initialize` request adds to an order, without what is empty. */
function asked(body: Readonly<Record<string, unknown>>) {
  const order = { ...PLAIN_ORDER, forwarded: ["--verbose"], mcpConfigs: ["mine.json"] };
  const request = { id: "r", subtype: "initialize", body };
  const { initialized, subagentText, ...lists } = withInitialization(order, request);
  const { forwarded: [flag, ...args], mcpConfigs: [config, ...mcpConfigs] } = lists;
  assertEquals([flag, config], ["--verbose", "mine.json"]);
  const { id: _, ...fields } = initialized ?? { id: "" };
  const added = Object.entries({ ...fields, args, mcpConfigs, subagentText })
    .filter(([, value]) => value !== undefined && value !== false)
    .filter(([name, value]) =>
      !["callbacks", "servers", "args", "mcpConfigs"].includes(name) ||
      (value as readonly unknown[]).length > 0
    );
  return Object.fromEntries(added);
}

const AGENT = { description: "d", prompt: "p" };
const SERVERS = { s: { command: "x", env: { KEY: "secret" } } };

const REQUESTS: readonly (readonly [Readonly<Record<string, unknown>>, unknown])[] = [
  [{}, {}],
  [{ hooks: null, agents: {}, sdkMcpServers: [] }, {}],
  [{ hooks: {}, jsonSchema: null, promptSuggestions: true, title: "" }, {}],
  [{ excludeDynamicSections: false, skills: null }, {}],
  ...[
    "agentProgressSummaries",
    "promptSuggestions",
    "supportedDialogKinds",
    "sdkMcpServerManifests",
  ]
    .concat("sdkMcpServerManifestsOrigin", "perTaskStopAffordance")
    .map((name) => [{ [name]: true }, {}] as const),
  [{ systemPrompt: ["You are", "two blocks"], appendSystemPrompt: "And more" }, {
    systemPrompt: "You are\n\ntwo blocks",
    appendSystemPrompt: "And more",
  }],
  [{ systemPrompt: "" }, { systemPrompt: "" }],
  [{ systemPromptSnapshot: true }, { args: ["--system-prompt-snapshot=on"] }],
  [{ agents: { bob: AGENT }, title: "A title" }, {
    args: [`--agents=${JSON.stringify({ bob: AGENT })}`, "--name=A title"],
  }],
  [
    {
      hooks: {
        PreToolUse: [{ matcher: "Bash", hookCallbackIds: ["a", "b"], timeout: 5 }],
        Stop: [
          { hookCallbackIds: ["c"], onFailure: "block" },
          { hookCallbackIds: ["d"], onFailure: "continue" },
        ],
        SessionStart: [{ hookCallbackIds: ["e"] }],
      },
    },
    {
      callbacks: [
        { event: "PreToolUse", id: "a", matcher: "Bash", timeoutS: 5 },
        { event: "PreToolUse", id: "b", matcher: "Bash", timeoutS: 5 },
        { event: "Stop", id: "c", blocks: true },
        { event: "Stop", id: "d" },
      ],
    },
  ],
  [
    {
      plugins: [
        { type: "local", path: "/p" },
        { type: "local", path: "/q", skipMcpDiscovery: true },
      ],
      mcpServers: { ...SERVERS, own: { type: "sdk" } },
      systemPromptSnapshot: false,
      agentProgressSummaries: true,
    },
    {
      args: [
        ...["--plugin-dir=/p", "--plugin-dir-no-mcp=/q", "--system-prompt-snapshot=off"],
        `--mcp-config=${JSON.stringify({ mcpServers: SERVERS })}`,
      ],
      mcpConfigs: [JSON.stringify({ mcpServers: SERVERS })],
    },
  ],
  [{ jsonSchema: { type: "object" }, forwardSubagentText: true }, {
    ...{ jsonSchema: '{"type":"object"}', subagentText: true },
  }],
  [{ sdkMcpServers: ["a", "b"] }, { servers: ["a", "b"] }],
  [{ skills: ["a"] }, { skills: ["a"] }],
  [{ skills: [] }, { skills: [] }],
  [{ sdkMcpServerConfigs: { s: { timeout: 1 } } }, { serverConfigs: { s: { timeout: 1 } } }],
  [{ excludeDynamicSections: true }, {
    ineffective: [
      '"excludeDynamicSections" has no effect: the interactive Claude Code always puts these ' +
      "sections into its system prompt",
    ],
  }],
  [{ agents: { a: { ...AGENT, prompt: "x".repeat(200_000) } } }, {
    longAgents: { a: { ...AGENT, prompt: "x".repeat(200_000) } },
  }],
  [{ plugins: [{ type: "url", url: "x" }, { type: "local", path: "/p" }, 7], mcpServers: ["s"] }, {
    args: ["--plugin-dir=/p"],
    error:
      '"plugins" has to be a list of local ones, with their paths; "mcpServers" has to be an object',
  }],
  [{ toolAliases: { Bash: "Sh" } }, {
    error: 'claude-print cannot honour "toolAliases": the interactive Claude Code has each tool ' +
      "under its own name alone, and no hook can make a call one of another tool",
  }],
  [{ news: 1 }, { error: 'claude-print cannot honour "news"' }],
  [{ hooks: [1] }, { error: '"hooks" has to be an object' }],
  [{ hooks: { Stop: [{}, 7, { hookCallbackIds: "x" }] } }, {
    error: Array(3).fill('"hooks" of Stop need "hookCallbackIds"').join("; "),
  }],
  [{ systemPrompt: 7, agents: [1], title: { a: 1 } }, {
    error: '"systemPrompt" has to be text; "agents" has to be an object; "title" has to be text',
  }],
  ...["a", [7], {}].map((skills) =>
    [{ skills }, { error: '"skills" has to be a list of names' }] as const
  ),
  [{ sdkMcpServers: [7] }, { error: '"sdkMcpServers" has to be a list of names' }],
];

Deno.test("an initialize request adds what it asks for", () => {
  for (const [body, added] of REQUESTS) assertEquals(asked(body), added);
});

Deno.test("an empty field asks for no other child", () => {
  const empty = { hooks: {}, title: "", appendSystemPrompt: null };
  const ineffective = { forwardSubagentText: true, promptSuggestions: true };
  const body = { systemPrompt: "", skills: [], agents: { bob: AGENT } };
  assertEquals(startingFields({ ...empty, ...ineffective, ...body }), body);
});

Deno.test("if one agent definition is invalid, no agent is loaded", () => {
  const argsWith = (other: unknown) => asked({ agents: { good: AGENT, other } }).args;
  const valid: readonly unknown[] = [
    { ...AGENT, news: 7, effort: -1, maxTurns: 1, mcpServers: ["s", { t: {} }] },
    { ...AGENT, tools: [""], hooks: {}, memory: "user", autoCompactWindow: 100_000 },
    { ...AGENT, background: true },
  ];
  const invalid: readonly unknown[] = [
    ...[null, 7, "text", {}, { description: "d" }, { prompt: "p" }],
    ...[{ ...AGENT, description: "" }, { ...AGENT, prompt: 7 }, { ...AGENT, tools: "a, b" }],
    ...[{ ...AGENT, model: " " }, { ...AGENT, maxTurns: 0 }, { ...AGENT, maxTurns: null }],
    ...[{ ...AGENT, effort: 1.5 }, { ...AGENT, memory: "x" }, { ...AGENT, skills: [7] }],
    ...[{ ...AGENT, autoCompactWindow: 1 }, { ...AGENT, background: "true" }],
  ];
  for (const other of valid) {
    assertEquals(argsWith(other), [`--agents=${JSON.stringify({ good: AGENT, other })}`]);
  }
  for (const other of invalid) assertEquals(argsWith(other), undefined, JSON.stringify(other));
});

Deno.test("the caller's own servers leave --mcp-config", () => {
  const config = JSON.stringify({
    mcpServers: { mine: { type: "sdk", name: "mine" }, other: { command: "x" } },
  });
  const bridged = withCallerServers({
    ...PLAIN_ORDER,
    mcpConfigs: [config, "file.json"],
    forwarded: [`--mcp-config=${config}`, "--mcp-config=file.json"],
  });
  assertEquals([bridged.callerServers, bridged.forwarded], [["mine"], [
    '--mcp-config={"mcpServers":{"other":{"command":"x"}}}',
    "--mcp-config=file.json",
  ]]);
  for (const configs of [[], ["{"], ["file.json"], ['{"mcpServers":7}']]) {
    const plain = { ...PLAIN_ORDER, mcpConfigs: configs };
    assertEquals(withCallerServers(plain), plain);
  }
});

const BEFORE = { results: 1 } as GoneChild["told"];
const EXITED: Ending = { kind: "exited", exit: { kind: "exited", code: 1 } };

const renewed = (changes: ChildChanges, lost?: true): Ending => ({
  kind: "renewed",
  changes,
  ...(lost === undefined ? {} : { lost }),
});

const gone = (child: Partial<GoneChild>): GoneChild => ({
  sessionId: "s",
  ending: EXITED,
  told: BEFORE,
  hasAnswered: false,
  wasOutdated: false,
  ...child,
});

Deno.test("the next child resumes an answered session", () => {
  const [plain, resumed] = [["--verbose"], ["--verbose", "--resume=s"]];
  const anew = ["--verbose", "--session-id=s"];
  const exited = "Claude Code is gone; what comes next goes to a new one";
  const lost = "Claude Code has lost a message with a turn that was stopped; it goes to a new one";
  const resumes = " that resumes the session";
  const rows: readonly (readonly [
    Partial<GoneChild>,
    { readonly kept?: boolean; readonly named?: string },
    readonly string[],
    string?,
  ])[] = [
    [{ ending: EXITED }, {}, plain, exited],
    [{ ending: EXITED, wasOutdated: true }, {}, plain],
    [{ ending: EXITED }, { kept: true }, resumed, exited + resumes],
    [{ ending: EXITED, hasAnswered: true }, {}, resumed, exited + resumes],
    [{ ending: renewed({}) }, {}, anew],
    [{ ending: renewed({}) }, { named: "r" }, plain],
    [{ ending: renewed({}), hasAnswered: true }, { named: "r" }, resumed],
    [{ ending: renewed({}, true) }, {}, anew, lost],
    [{ ending: renewed({}, true), hasAnswered: true }, {}, resumed, lost + resumes],
  ];
  for (const [child, { kept = false, named }, forwarded, warning] of rows) {
    const order = {
      ...PLAIN_ORDER,
      forwarded: ["--verbose"],
      forkSession: true,
      ...(named === undefined ? {} : { resume: named }),
    };
    const next = nextOrder(order, { gone: gone(child), isKept: () => kept });
    assertEquals(
      [next.order.forwarded, next.order.before, next.isAnew, next.warning],
      [forwarded, BEFORE, false, warning],
    );
    assertEquals(
      next.order.forkSession,
      !forwarded.some((each) => /^--(?:resume|session-id)=/u.test(each)),
    );
  }
});

Deno.test("a conversation that begins anew has another session", () => {
  const ending = renewed({ begun: "new", model: "claude-haiku-4-5" });
  for (const kept of [false, true]) {
    const next = nextOrder({ ...PLAIN_ORDER, forwarded: ["--resume=old"] }, {
      gone: gone({ ending, hasAnswered: true }),
      isKept: (id) => kept && id === "new",
    });
    const begun = ["--model=claude-haiku-4-5", "--session-id=new"];
    assertEquals([next.isAnew, next.wanted.forwarded], [true, begun]);
    assertEquals(next.order.forwarded, kept ? ["--model=claude-haiku-4-5", "--resume=new"] : begun);
  }
});

Deno.test("a session that is not kept cannot continue", () => {
  const order = { ...PLAIN_ORDER, persistSession: false };
  assertThrows(
    () => nextOrder(order, { gone: gone({ hasAnswered: true }), isKept: () => false }),
    CliError,
    "Cannot go on with the conversation: its session is not kept",
  );
});

Deno.test("changes of settings, servers and modes add up", () => {
  const [sdk, program] = [{ type: "sdk" }, { command: "x" }];
  const first = changedOrder(PLAIN_ORDER, {
    flagSettings: { a: 1, b: 1 },
    switched: { s: false, t: true },
    setServers: { s: sdk },
    unreached: ["s"],
  });
  const next = changedOrder(first, {
    ...{ flagSettings: { b: 2 }, switched: { s: true }, setServers: { t: program } },
  });
  assertEquals([next.flagSettings, next.switched], [{ a: 1, b: 2 }, { s: true, t: true }]);
  assertEquals([first.setServers, first.unreached], [{ s: sdk }, ["s"]]);
  assertEquals([next.setServers, next.callerServers], [{ t: program }, []]);
  const loose = { ...PLAIN_ORDER, dangerouslySkipPermissions: true, chosenModel: "m" };
  const strict = changedOrder(loose, { permissionMode: "plan", readsNoMentions: true });
  assertEquals([strict.dangerouslySkipPermissions, strict.readsNoMentions, strict.chosenModel], [
    ...[false, true, "m"],
  ]);
  const { dangerouslySkipPermissions } = changedOrder(strict, {
    permissionMode: "bypassPermissions",
  });
  assertEquals(dangerouslySkipPermissions, true);
});

Deno.test("a change replaces earlier flags", () => {
  const given = ["--model=opus", "--max-thinking-tokens=1", "--verbose"];
  const rows: readonly (readonly [readonly string[], ChildChanges, readonly string[], string?])[] =
    [
      [
        given,
        { model: "claude-haiku-4-5", permissionMode: "plan", maxThinkingTokens: 0 },
        ["--verbose", "--model=claude-haiku-4-5", "--max-thinking-tokens=0"],
        "claude-haiku-4-5",
      ],
      [given, { model: null, maxThinkingTokens: null }, ["--verbose", "--model=default"]],
      // An alias is not yet a model.
      [given, { model: "haiku" }, ["--max-thinking-tokens=1", "--verbose", "--model=haiku"]],
      [
        ["--effort=low"],
        { model: "haiku", chosenModel: "claude-haiku-4-5", effort: "high" },
        ["--model=haiku", "--effort=high"],
        "claude-haiku-4-5",
      ],
      [["--model=haiku", "--effort=high"], { effort: null }, ["--model=haiku"]],
      [
        ["--thinking-display=omitted"],
        { thinkingDisplay: "summarized", plugins: ["--plugin-dir=/p"] },
        ["--thinking-display=summarized", "--plugin-dir=/p"],
      ],
      [["--thinking-display=omitted"], { thinkingDisplay: null }, []],
    ];
  for (const [forwarded, changes, expected, chosenModel] of rows) {
    const order: RunOrder = { ...PLAIN_ORDER, forwarded, permissionMode: "acceptEdits" };
    const changed = changedOrder(order, changes);
    assertEquals([changed.forwarded, changed.permissionMode, changed.chosenModel], [
      expected,
      changes.permissionMode ?? "acceptEdits",
      chosenModel,
    ]);
  }
});
