import { assertEquals } from "@std/assert";
import { askedOrder, bridgedOrder } from "../../../src/run/plan/asked_order.ts";
import { PLAIN_ORDER } from "../plain_order.ts";

const asked = (body: Readonly<Record<string, unknown>>) => {
  const { initialized, forwarded } = askedOrder(PLAIN_ORDER, {
    id: "r",
    subtype: "initialize",
    body,
  });
  const { id: _, callbacks, ...rest } = initialized ?? { id: "", callbacks: [] };
  return { callbacks, args: forwarded.slice(PLAIN_ORDER.forwarded.length), ...rest };
};

const NOTHING = { callbacks: [], servers: [], args: [] };

Deno.test("an initialization that asks for nothing changes nothing", () => {
  for (
    const body of [
      {},
      { hooks: null, agents: {}, sdkMcpServers: [] },
      { hooks: {}, jsonSchema: null, promptSuggestions: true, title: "" },
    ]
  ) {
    assertEquals(asked(body), NOTHING);
  }
});

Deno.test("prompts, agents and a title are given to the child, hooks get places", () => {
  assertEquals(
    asked({
      systemPrompt: ["You are", "two blocks"],
      appendSystemPrompt: "And more",
      agents: { bob: { description: "d", prompt: "p" } },
      title: "A title",
      hooks: {
        PreToolUse: [{ matcher: "Bash", hookCallbackIds: ["a", "b"], timeout: 5 }],
        Stop: [{ hookCallbackIds: ["c"] }],
        SessionStart: [{ hookCallbackIds: ["d"] }],
      },
    }),
    {
      callbacks: [
        { event: "PreToolUse", id: "a", matcher: "Bash", timeoutS: 5 },
        { event: "PreToolUse", id: "b", matcher: "Bash", timeoutS: 5 },
        { event: "Stop", id: "c" },
      ],
      servers: [],
      args: ['--agents={"bob":{"description":"d","prompt":"p"}}', "--name=A title"],
      systemPrompt: "You are\n\ntwo blocks",
      appendSystemPrompt: "And more",
    },
  );
  assertEquals(asked({ systemPrompt: "" }), { ...NOTHING, systemPrompt: "" });
});

Deno.test("plugins and servers become arguments: of texts the plan makes files", () => {
  const mcpServers = { s: { command: "x", env: { KEY: "secret" } } };
  const config = JSON.stringify({ mcpServers });
  assertEquals(
    asked({
      plugins: [
        { type: "local", path: "/p" },
        { type: "local", path: "/q", skipMcpDiscovery: true },
      ],
      mcpServers: { ...mcpServers, own: { type: "sdk" } },
      systemPromptSnapshot: false,
      agentProgressSummaries: true,
    }),
    {
      ...NOTHING,
      args: [
        ...["--plugin-dir=/p", "--plugin-dir-no-mcp=/q", "--system-prompt-snapshot=off"],
        `--mcp-config=${config}`,
      ],
    },
  );
  const { args, error } = asked({
    plugins: [{ type: "url", url: "x" }, { type: "local", path: "/p" }, 7],
    mcpServers: ["s"],
  });
  assertEquals(args, ["--plugin-dir=/p"]);
  assertEquals(
    error,
    '"plugins" has to be a list of local ones, with their paths; "mcpServers" has to be an object',
  );
});

Deno.test("what cannot be honoured is named", () => {
  const errorOf = (body: Readonly<Record<string, unknown>>) => asked(body).error;
  assertEquals(
    errorOf({ toolAliases: { Bash: "Sh" } }),
    'claude-print cannot honour "toolAliases": the interactive Claude Code has each tool under ' +
      "its own name alone, and no hook can make a call one of another tool",
  );
  assertEquals(errorOf({ news: 1 }), 'claude-print cannot honour "news"');
  assertEquals(errorOf({ hooks: [1] }), '"hooks" has to be an object');
  assertEquals(
    errorOf({ hooks: { Stop: [{}, 7, { hookCallbackIds: "x" }] } }),
    Array(3).fill('"hooks" of Stop need "hookCallbackIds"').join("; "),
  );
  assertEquals(
    errorOf({ systemPrompt: 7, agents: [1], title: { a: 1 } }),
    '"systemPrompt" has to be text; "agents" has to be an object; "title" has to be text',
  );
});

Deno.test("skills to choose from, terms of servers and what has no effect are kept for the plan", () => {
  assertEquals(asked({ skills: ["a"], perTaskStopAffordance: true }), {
    ...NOTHING,
    skills: ["a"],
  });
  assertEquals(asked({ skills: [] }), { ...NOTHING, skills: [] });
  for (const skills of ["a", [7], {}]) {
    assertEquals(asked({ skills }).error, '"skills" has to be a list of names');
  }
  assertEquals(asked({ skills: null, sdkMcpServerConfigs: { s: { timeout: 1 } } }), {
    ...NOTHING,
    serverConfigs: { s: { timeout: 1 } },
  });
  assertEquals(asked({ excludeDynamicSections: true }), {
    ...NOTHING,
    ineffective: [
      '"excludeDynamicSections" has no effect: the interactive Claude Code always puts these ' +
      "sections into its system prompt",
    ],
  });
  assertEquals(asked({ excludeDynamicSections: false }), NOTHING);
});

Deno.test("one agent that is defined amiss leaves none", () => {
  const good = { description: "d", prompt: "" };
  const args = ['--agents={"good":{"description":"d","prompt":""},"other":'];
  const argsWith = (other: unknown) => asked({ agents: { good, other } }).args;
  for (
    const other of [
      { ...good, news: 7, effort: -1, maxTurns: 1, mcpServers: ["s", { t: {} }] },
      { ...good, tools: [""], hooks: {}, memory: "user", autoCompactWindow: 100_000 },
    ]
  ) {
    assertEquals(argsWith(other), [`${args[0]}${JSON.stringify(other)}}`]);
  }
  const amiss: readonly unknown[] = [
    ...[null, 7, "text", {}, { description: "d" }, { prompt: "p" }, { ...good, description: "" }],
    ...[{ ...good, prompt: 7 }, { ...good, tools: "a, b" }, { ...good, model: " " }],
    ...[{ ...good, maxTurns: 0 }, { ...good, maxTurns: null }, { ...good, effort: 1.5 }],
    ...[{ ...good, memory: "x" }, { ...good, skills: [7] }, { ...good, autoCompactWindow: 1 }],
  ];
  for (const other of amiss) assertEquals(argsWith(other), [], JSON.stringify(other));
});

Deno.test("a hook that blocks where it fails is known as one", () => {
  const hooks = {
    PreToolUse: [
      { hookCallbackIds: ["a"], onFailure: "block" },
      { hookCallbackIds: ["b"], onFailure: "continue" },
    ],
  };
  assertEquals(asked({ hooks }).callbacks, [
    { event: "PreToolUse", id: "a", blocks: true },
    { event: "PreToolUse", id: "b" },
  ]);
});

Deno.test("agents that are too long for a command line are kept for the plan", () => {
  const agents = { a: { description: "d", prompt: "x".repeat(200_000) } };
  assertEquals(asked({ agents }), { ...NOTHING, longAgents: agents });
});

Deno.test("servers of the caller's are taken out of the configuration, and are not lost", () => {
  const config = JSON.stringify({
    mcpServers: { mine: { type: "sdk", name: "mine" }, other: { command: "x" } },
  });
  const order = {
    ...PLAIN_ORDER,
    mcpConfigs: [config, "file.json"],
    forwarded: [`--mcp-config=${config}`, "--mcp-config=file.json"],
  };
  const bridged = bridgedOrder(order);
  assertEquals(bridged.callerServers, ["mine"]);
  assertEquals(bridged.forwarded, [
    '--mcp-config={"mcpServers":{"other":{"command":"x"}}}',
    "--mcp-config=file.json",
  ]);
  assertEquals(asked({ sdkMcpServers: ["a", "b"] }), { ...NOTHING, servers: ["a", "b"] });
  assertEquals(asked({ sdkMcpServers: [7] }).error, '"sdkMcpServers" has to be a list of names');
  for (const configs of [[], ["{"], ["file.json"], ['{"mcpServers":7}']]) {
    const plain = { ...PLAIN_ORDER, mcpConfigs: configs };
    assertEquals(bridgedOrder(plain), plain);
  }
});
