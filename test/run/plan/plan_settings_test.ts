import { definedFields } from "../../../src/defined_fields.ts";
import { assertThrows } from "@std/assert";
import { CliError } from "../../../src/cli_error.ts";
import type { JsonObject } from "../../../src/json_object.ts";
import type { Plan } from "../../../src/run/plan/plan.ts";
import {
  argsOf,
  both,
  CONVERSATION,
  EARLIER,
  fileOf,
  flags,
  FOLDER,
  FRESH,
  initialized,
  isAnswered,
  jsonOf,
  local,
  planOf,
  project,
  rule,
  SERVER,
  settingsOf,
  user,
} from "./plan_of.ts";

const OWN_ARGS = [
  "--permission-mode=default",
  "--disallowedTools=AskUserQuestion,EnterPlanMode,ExitPlanMode",
  "--disallowedTools=Agent(claude-code-guide)",
];

rule("arguments have a fixed order", ({ args }) => args, [
  [[...OWN_ARGS, `--settings=${FOLDER}/own/settings.json`, `--session-id=${FRESH}`]],
  [
    [
      ...[...OWN_ARGS, "--disallowedTools=WebFetch,Edit", "--disallowedTools=X"],
      ...[`--settings=${FOLDER}/own/settings.json`, `--session-id=${FRESH}`],
      ...["--model=opus", "--name=Be brief. --now", `--debug-file=${FOLDER}/own/debug.log`],
    ],
    {
      disallowedTools: ["WebFetch,Edit", "X"],
      forwarded: ["--model=opus", "--name=Be brief. --now"],
      retries: true,
    },
  ],
]);

rule("prompts and server configurations become files", (planned) => ({
  args: planned.args.slice(5),
  files: planned.contents.files.filter(({ path }) => /-prompt|mcp/u.test(path))
    .map(({ path, text }) => [path.slice(FOLDER.length + 5), text]),
}), [
  [
    {
      args: [
        `--system-prompt-file=${FOLDER}/own/system-prompt`,
        `--append-system-prompt-file=${FOLDER}/own/append-system-prompt`,
        `--mcp-config=${FOLDER}/own/mcp-config-0.json`,
        "--mcp-config=s.json",
        `--mcp-config=${FOLDER}/own/mcp-config-1.json`,
        "--model=opus",
      ],
      files: [
        ["system-prompt", ""],
        ["append-system-prompt", "a=b\n"],
        ["mcp-config-0.json", ' {"a":1}'],
        ["mcp-config-1.json", "{}"],
      ],
    },
    {
      forwarded: [
        ...["--system-prompt=", "--append-system-prompt=a=b\n", '--mcp-config= {"a":1}'],
        ...["--mcp-config=s.json", "--mcp-config={}", "--model=opus"],
      ],
    },
  ],
  // Invalid JSON is a path, and Claude Code reads no agents from a file.
  [
    { args: ["--mcp-config={a", "--mcp-config=[]", '--agents={"a":{}}'], files: [] },
    { forwarded: ["--mcp-config={a", "--mcp-config=[]", '--agents={"a":{}}'] },
  ],
  // Claude Code refuses a text next to a file of the same kind.
  [
    {
      args: [
        ...[`--session-id=${FRESH}`, "--system-prompt=a", "--system-prompt-file=b"],
        "--append-system-prompt=c",
      ],
      files: [["append-system-prompt", "first"]],
    },
    {
      ...initialized({ appendSystemPrompt: "first" }),
      forwarded: ["--system-prompt=a", "--system-prompt-file=b", "--append-system-prompt=c"],
    },
  ],
]);

const LONG = { description: "d", prompt: "x".repeat(120_000) };
const SERVERS = { userClaudeJson: { mcpServers: { s: {} } } };
const agentFlags = ({ args }: { readonly args: readonly string[] }) =>
  args.filter((each) => /^--(?:agents|setting-sources)/u.test(each));

rule("agents too long for a command line become files", (planned) => {
  const { contents, conversation: { session }, helper } = planned;
  return definedFields({
    args: agentFlags(planned),
    files: contents.files.filter(({ path }) => path.startsWith(`${FOLDER}/.claude/agents/`))
      .map(({ path, text }) => [path.slice(FOLDER.length), text.length > 120_000]),
    hidesUser: contents.hidesUser,
    servers: jsonOf(planned, ".claude/.claude.json").mcpServers,
    error: session.caller?.initialized?.error,
    otherStopHooks: session.otherStopHooks,
    helper: helper && [Object.keys(helper.agents ?? {}), agentFlags(helper)],
  });
}, [
  [
    { args: [], files: [], hidesUser: false, servers: { s: {} }, otherStopHooks: false },
    {},
    SERVERS,
  ],
  [
    {
      args: ["--setting-sources=project,user", '--agents={"c":{"description":"d","prompt":"c"}}'],
      files: [["/.claude/agents/0.md", true], ["/.claude/agents/1.md", true]],
      hidesUser: false,
      servers: { s: {} },
      otherStopHooks: true,
      helper: [["a", "../b", "c"], ["--setting-sources=project,user"]],
    },
    {
      ...CONVERSATION,
      ...initialized({ longAgents: { a: LONG, "../b": LONG, c: { ...LONG, prompt: "c" } } }),
      settingSources: "project,user",
      forwarded: ["--setting-sources=project,user"],
    },
    SERVERS,
    { others: { names: ["c"] } },
  ],
  // Nothing else of the user's is read with the files.
  [
    {
      args: ["--setting-sources=project", "--setting-sources=user,project"],
      files: [["/.claude/agents/0.md", true]],
      hidesUser: true,
      otherStopHooks: true,
      helper: [["a"], ["--setting-sources=project"]],
    },
    {
      ...CONVERSATION,
      ...initialized({ longAgents: { a: LONG } }),
      settingSources: "project",
      forwarded: ["--setting-sources=project"],
    },
    SERVERS,
  ],
  [
    {
      args: ["--agents=a.json", "--agents={}"],
      files: [["/.claude/agents/0.md", true]],
      hidesUser: false,
      otherStopHooks: true,
    },
    { forwarded: ["--agents=a.json"] },
    {},
    { ofFile: JSON.stringify({ a: LONG }) },
  ],
  [
    {
      args: [],
      files: [],
      hidesUser: false,
      error:
        '"agents" is too long for a command line, and no file can hold "a": --restricted leaves no file to be read',
      otherStopHooks: true,
      helper: [[], []],
    },
    { ...CONVERSATION, ...initialized({ longAgents: { a: LONG } }), forwarded: ["--restricted"] },
  ],
]);

Deno.test("plan: a file of agents that fit nowhere is refused", () => {
  const order = { forwarded: ["--agents=a.json", "--restricted"] };
  assertThrows(
    () => planOf(order, {}, { ofFile: JSON.stringify({ a: LONG }) }),
    CliError,
    "Cannot honour --agents: ",
  );
});

const BRIDGE = { type: "stdio", command: "/bin/sh", args: [`${FOLDER}/own/mcp-bridge`, "0"] };
const ownServers = (planned: Plan) => jsonOf(planned, "own/mcp.json").mcpServers;
const OUTPUT = { schema: { title: "An answer" }, problemsOf: () => [] };

rule("structured output is a tool of ours", (planned) => {
  const { session, frames, report } = planned.conversation;
  return definedFields({
    config: argsOf(planned, "--mcp-config"),
    servers: ownServers(planned),
    allowed: settingsOf(planned).permissions.allow,
    answered: [isAnswered(planned, "Stop"), isAnswered(planned, "PostToolBatch")],
    session: session.output,
    frames: frames.output,
    tries: report.outputTries,
    printed: frames.servers?.map(({ name }) => name),
    error: session.caller?.initialized?.error,
  });
}, [
  [{ config: [], answered: [false, undefined], printed: [] }],
  [
    {
      config: [`${FOLDER}/own/mcp.json`],
      servers: {
        "claude-print": { ...BRIDGE, alwaysLoad: true },
        mine: { ...BRIDGE, args: [...BRIDGE.args.slice(0, 1), "1"] },
      },
      allowed: ["mcp__claude-print__StructuredOutput", "Bash"],
      answered: [true, true],
      session: { schema: OUTPUT.schema, maxTries: 7 },
      frames: true,
      tries: 7,
      printed: ["mine"],
    },
    { jsonSchema: "{}", callerServers: ["mine"], env: { MAX_STRUCTURED_OUTPUT_RETRIES: "7.5" } },
    { output: OUTPUT, callerSettings: { permissions: { allow: ["Bash"] } } },
  ],
  [
    {
      config: [`${FOLDER}/own/mcp.json`],
      servers: { "claude-print": { ...BRIDGE, alwaysLoad: true } },
      allowed: ["mcp__claude-print__StructuredOutput"],
      answered: [true, true],
      session: { schema: OUTPUT.schema, maxTries: 5 },
      frames: "initialized",
      tries: 5,
      printed: [],
    },
    { ...CONVERSATION, ...initialized() },
    { output: OUTPUT },
  ],
  [
    { config: [], answered: [true, undefined], error: "a; b", printed: [] },
    { ...CONVERSATION, ...initialized({ error: "a" }) },
    { outputProblem: "b" },
  ],
]);

const PROMPT_SERVER = {
  name: "p.q",
  config: { command: "node", args: ["s.js"], env: { A: "${A}" } },
};
const THEIRS = { forwarded: ["--mcp-config=theirs.json"] };

rule("the permission prompt tool is bridged, hidden from the model", (planned) =>
  definedFields({
    hidden: argsOf(planned, "--disallowedTools").slice(0, -1),
    configs: argsOf(planned, "--mcp-config"),
    servers: ownServers(planned),
    waits: planned.conversation.session.mcpServers,
    tool: planned.conversation.session.caller?.promptTool,
    denials: planned.conversation.frames.denialsUntold,
    relayed: planned.contents.relayed,
    printed: planned.conversation.frames.servers?.map((server) => Object.keys(server).join()),
  }), [
  [
    {
      hidden: ["mcp__p_q__ask"],
      configs: ["theirs.json", `${FOLDER}/own/mcp.json`],
      servers: { "p.q": { ...BRIDGE, args: [...BRIDGE.args, "node", "s.js"], env: { A: "${A}" } } },
      waits: 2,
      tool: { name: "mcp__p_q__ask", server: "p.q", tool: "ask" },
      denials: true,
      relayed: "p.q",
      printed: ["name,source,disabled", "name,source,disabled"],
    },
    { promptTool: "mcp__p_q__ask", ...THEIRS },
    {
      promptServer: PROMPT_SERVER,
      mcpServers: [SERVER, { ...SERVER, name: "p.q", config: PROMPT_SERVER.config }],
    },
  ],
  // The caller's own server.
  [
    {
      hidden: ["mcp__o_wn__ask"],
      configs: ["theirs.json", `${FOLDER}/own/mcp.json`],
      servers: { "o.wn": BRIDGE },
      waits: 2,
      tool: { name: "mcp__o_wn__ask", tool: "ask", ownServer: "o.wn" },
      denials: true,
      printed: ["name,source,disabled", "name,source,disabled"],
    },
    { promptTool: "mcp__o_wn__ask", ...THEIRS, callerServers: ["o.wn"] },
    { mcpServers: [SERVER] },
  ],
  // A server that does not exist.
  [
    {
      hidden: ["mcp__x__ask"],
      configs: ["theirs.json"],
      waits: 1,
      tool: { name: "mcp__x__ask", tool: "mcp__x__ask" },
      denials: true,
      printed: ["name,source,disabled"],
    },
    { promptTool: "mcp__x__ask", ...THEIRS },
    { mcpServers: [SERVER] },
  ],
]);

const denying = (name: string) => ({ name, permission_policy: "always_deny" });

rule("the caller's choice of skills and server terms become settings", (planned) => {
  const { skillOverrides, permissions: { deny, ask } } = settingsOf(planned);
  const servers = Object.values<JsonObject>(ownServers(planned) ?? {});
  return definedFields({
    skillOverrides,
    denied: deny.filter((rule: string) => !/^(?:Edit|Read)\(/u.test(rule)),
    ask,
    timeouts: servers.map(({ timeout }) => timeout),
    warnings: planned.warnings,
  });
}, [
  [{ denied: [], timeouts: [], warnings: [] }],
  [
    {
      skillOverrides: { d: "name-only", a: "user-invocable-only", e: "user-invocable-only" },
      denied: ["Bash", "Skill(p:c)"],
      timeouts: [],
      warnings: ["--y has no effect", '"x" has no effect'],
    },
    { ineffective: ["--y has no effect"], ...initialized({ ineffective: ['"x" has no effect'] }) },
    {
      hiddenSkills: { own: ["a", "b", "e"], ofPlugins: ["p:c"] },
      callerSettings: { skillOverrides: { d: "name-only" }, permissions: { deny: ["Bash"] } },
      ...both(
        user({ skillOverrides: { b: "off", a: "name-only" } }),
        // A skill that is turned off and on again has no setting.
        project({ skillOverrides: { e: "off" } }),
        local({ skillOverrides: { e: "on" } }),
      ),
    },
  ],
  [
    {
      denied: [
        "mcp__s__b_c",
        ...["g__", "_", "h___", "", "__proto__"].map((x) => `mcp__v____${x}`),
      ],
      ask: ["mcp__s__a", "mcp__s__e"],
      timeouts: [2000, undefined],
      warnings: [],
    },
    initialized({
      servers: ["s", "t"],
      serverConfigs: {
        s: {
          timeout: 2000,
          tools: [
            { name: "a", permission_policy: "always_ask" },
            denying("b.c"),
            { name: "d", permission_policy: "always_allow" },
            ...[{ name: "e", permission_policy: "odd" }, { name: "f" }, { name: 7 }, 7],
          ],
        },
        t: { timeout: 1.5, tools: "x" },
        u: 7,
        // The emoji is two UTF-16 units, and each becomes an underscore.
        "v😀": { tools: ["g😀", "*", "h(*)", "", "__proto__"].map(denying) },
      },
    }),
  ],
  // Invalid timeouts.
  [
    { denied: [], timeouts: [undefined, undefined, undefined, 1], warnings: [] },
    initialized({
      servers: ["s", "t", "u", "v"],
      serverConfigs: {
        s: { timeout: -5 },
        t: { timeout: 0 },
        u: { timeout: 1e308 },
        v: { timeout: 1 },
      },
    }),
  ],
  // Servers that were set later win.
  [{ denied: [], timeouts: [3000], warnings: [] }, {
    ...initialized({ servers: ["s"], serverConfigs: { s: { timeout: 1 } } }),
    setServers: { s: { type: "sdk", timeout: 3000 }, other: { command: "x", timeout: 4 } },
  }],
]);

const ALWAYS = ["Stop", "StopFailure", "SessionEnd", "PermissionRequest", "Elicitation"];
const COMPACTION = ["PreCompact", "PostCompact"];

rule("hooks are registered where needed", (planned) => Object.keys(settingsOf(planned).hooks), [
  [ALWAYS],
  [[...ALWAYS, ...COMPACTION, "SessionStart"], { frames: true }],
  [[...ALWAYS, "SessionStart"], {}, { mcpServers: [SERVER] }],
  [[...ALWAYS, "UserPromptSubmit"], { inject: "paste" }],
  [[...ALWAYS, "UserPromptSubmit"], {}, { gated: { expands: false, verbatim: true } }],
  [[...ALWAYS, "UserPromptSubmit"], { altered: "a zero width space" }],
  [[...ALWAYS, "PostToolBatch", "MessageDisplay"], { partialMessages: true }],
  // The relay sees the API's stream.
  [ALWAYS, { partialMessages: true, exactStream: true }],
  [[...ALWAYS, "PostToolBatch"], { maxTurns: 3 }],
  [[...ALWAYS, "PostToolBatch", "PreToolUse"], { maxBudgetUsd: 1 }],
  [[...ALWAYS, ...COMPACTION, "SessionStart", "UserPromptSubmit", "PostToolBatch"], {
    frames: true,
    inject: "paste",
    maxTurns: 3,
  }],
]);

const managed = ({ args = [] }: { readonly args?: readonly string[] } = {}) =>
  args.filter((argument) => /^--(?:managed|plugin)/u.test(argument));
const OWN_PLUGIN = `--plugin-dir=${FOLDER}/own/hooks-plugin`;

rule("disableAllHooks leaves our hooks in a plugin", (planned) => ({
  settings: Object.keys(settingsOf(planned).hooks),
  plugin: "Stop" in jsonOf(planned, "own/hooks-plugin/.claude-plugin/plugin.json").hooks,
  args: managed(planned),
  helper: managed(planned.helper),
  awaited: planned.conversation.session.otherStopHooks,
}), [
  [
    {
      settings: ["Notification"],
      plugin: true,
      args: ['--managed-settings={"strictPluginOnlyCustomization":["hooks"]}', OWN_PLUGIN],
      helper: [],
      awaited: false,
    },
    {},
    {
      callerSettings: { hooks: { Notification: [] } },
      ...both(user({ disableAllHooks: true }), project({ hooks: { Stop: [] } })),
    },
  ],
  [
    {
      settings: [],
      plugin: true,
      args: [
        '--managed-settings={"a":1,"strictPluginOnlyCustomization":["skills"]}',
        '--managed-settings={"a":1,"strictPluginOnlyCustomization":["skills","hooks"]}',
        OWN_PLUGIN,
      ],
      helper: ['--managed-settings={"a":1,"strictPluginOnlyCustomization":["skills"]}'],
      awaited: false,
    },
    {
      ...CONVERSATION,
      forwarded: ['--managed-settings={"a":1,"strictPluginOnlyCustomization":["skills"]}'],
    },
    flags({ disableAllHooks: true }),
  ],
]);

const KEPT = { model: "opus", env: { A: "1" } };
const SCREEN = { statusLine: {}, subagentStatusLine: {}, fileSuggestion: {} };
const HOOKS = { hooks: { Stop: [] } };
const USERS = user({ ...HOOKS, ...SCREEN, ...KEPT });

rule("--inherit-hooks runs the user's hooks", (planned) => [
  jsonOf(planned, ".claude/settings.json"),
  planned.conversation.session.otherStopHooks,
], [
  [[KEPT, false], {}, USERS],
  [[KEPT, false], { inheritHooks: true }, both(USERS, flags({ disableAllHooks: true }))],
  [[{ ...HOOKS, ...KEPT }, true], { inheritHooks: true }, USERS],
]);

// The second one stands for nothing too.
const NO_COMMANDS = ",: ${CLAUDE_PLUGIN_ROOT},";

rule("the caller's settings lose screen commands", (planned) => {
  const { model, statusLine, subagentStatusLine, fileSuggestion, hooks } = settingsOf(planned);
  const commands = [statusLine, subagentStatusLine, fileSuggestion].map(({ command }) => command);
  return [model, commands.join(), hooks.Stop.length];
}, [
  [[undefined, NO_COMMANDS, 1]],
  [["opus", NO_COMMANDS, 2], {}, {
    callerSettings: { model: "opus", statusLine: { command: "s" }, hooks: { Stop: [{}] } },
  }],
  [[undefined, NO_COMMANDS, 1], {}, project({ statusLine: { command: "s" } })],
]);

rule(
  "a status line asks for the cost where it counts",
  (planned) => settingsOf(planned).statusLine.command.includes("set -- status-line"),
  [[false], [true, CONVERSATION], [true, { limitsTold: true }], [true, { maxBudgetUsd: 1 }]],
);

rule("servers that the caller has switched off stay off", (planned) => {
  const { projects } = jsonOf(planned, ".claude/.claude.json");
  return projects["/w/inner"].disabledMcpServers;
}, [[undefined], [["a"], { ...CONVERSATION, switched: { a: false, b: true } }]]);

const ALLOWING_BYPASS = ["--allow-dangerously-skip-permissions"];

rule(
  "a child may bypass permissions only when told",
  "settings.permissions.disableBypassPermissionsMode",
  [
    [undefined],
    ["disable", { forwarded: ALLOWING_BYPASS }],
    ["disable", { forwarded: ALLOWING_BYPASS, permissionMode: "plan" }, {
      version: "2.1.330",
      callerSettings: { permissions: { deny: ["Bash"] } },
    }],
    [undefined, { forwarded: ALLOWING_BYPASS, permissionMode: "bypassPermissions" }],
  ],
);

rule("a resumed session may read its earlier tool results", "settings.permissions.allow", [
  [undefined],
  [[`Read(//u/.claude/projects/*/${EARLIER}/tool-results/**)`], { resume: EARLIER }],
]);

rule("settings cannot set the run's own variables", "settings.env", [
  [{ CLAUDE_CODE_SIMPLE: "" }, {}, project({ env: { CLAUDE_CODE_SIMPLE: "1", OTHER: "1" } })],
  [{ MINE: "1", CLAUDE_CONFIG_DIR: `${FOLDER}/.claude` }, {}, {
    callerSettings: { env: { MINE: "1" } },
    ...local({ env: { CLAUDE_CONFIG_DIR: "/evil" } }),
  }],
  // With this flag, Claude Code sets the variable itself.
  [undefined, { forwarded: ["--bare"] }, project({ env: { CLAUDE_CODE_SIMPLE: "1" } })],
]);

const BETA = "context-1m-2025-08-07";

rule(
  "--betas sets a variable, and the settings that name it",
  "env.ANTHROPIC_BETAS settings.env warnings.length",
  [
    [[undefined, undefined, 0]],
    [[BETA, undefined, 0], { betas: [BETA] }],
    [[undefined, undefined, 1], { betas: ["x"] }],
    [
      [`c,${BETA}`, { A: "b", ANTHROPIC_BETAS: `c,${BETA}` }, 0],
      { betas: [BETA] },
      { callerSettings: { env: { A: "b" } }, ...project({ env: { ANTHROPIC_BETAS: "c" } }) },
    ],
  ],
);

const RELAY = { relayVariables: { ANTHROPIC_BASE_URL: "http://relay" } };

rule(
  "a relay's address wins over environment and settings",
  "env.ANTHROPIC_BASE_URL settings.env frames.partial frames.heard",
  [
    [[undefined, undefined, undefined, undefined]],
    // Recording changes nothing that is printed.
    [["http://relay", undefined, undefined, undefined], { record: "r" }, RELAY],
    [
      ["http://relay", undefined, true, true],
      { partialMessages: true, deterministic: true },
      RELAY,
    ],
    [
      ["http://relay", { ANTHROPIC_BASE_URL: "http://relay", OTHER: "1" }, "exact", undefined],
      { partialMessages: true, exactStream: true, env: { ANTHROPIC_BASE_URL: "https://x" } },
      {
        ...RELAY,
        callerSettings: { env: { OTHER: "1" } },
        ...user({ env: { ANTHROPIC_BASE_URL: "https://y" } }),
      },
    ],
  ],
);

rule("a deterministic run has no memory, git state or checksum", (planned) => [
  ...["DISABLE_AUTO_MEMORY", "DISABLE_GIT_INSTRUCTIONS", "ATTRIBUTION_HEADER"].map((name) =>
    planned.env[`CLAUDE_CODE_${name}`]
  ),
  settingsOf(planned).env,
  planned.conversation.frames.memoryPath !== undefined,
], [
  [[undefined, undefined, undefined, undefined, true]],
  [
    [
      ...["1", "1", "0"],
      {
        ANTHROPIC_BASE_URL: "http://relay",
        CLAUDE_CODE_ATTRIBUTION_HEADER: "0",
        CLAUDE_CODE_DISABLE_AUTO_MEMORY: "1",
        CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS: "1",
      },
      false,
    ],
    { deterministic: true },
    { ...RELAY, ...project({ env: { CLAUDE_CODE_ATTRIBUTION_HEADER: "1" } }) },
  ],
  [["1", undefined, undefined, undefined, false], {
    env: { CLAUDE_CODE_DISABLE_AUTO_MEMORY: "1" },
  }],
]);

rule(
  "the environment moves into the private folder",
  "env.PATH env.CLAUDE_CONFIG_DIR env.CLAUDE_CODE_TMPDIR env.CLAUDE_SECURESTORAGE_CONFIG_DIR env.CLAUDE_CODE_DISABLE_CRON",
  [
    [["/bin", `${FOLDER}/.claude`, `${FOLDER}/tmp`, "/u/.claude", undefined], {
      env: { PATH: "/bin", CLAUDECODE: "1" },
    }],
    [["/bin", `${FOLDER}/.claude`, `${FOLDER}/tmp`, "/u/.claude", "1"], {}, {
      scheduledTasks: true,
    }],
  ],
);

rule("a run within Claude Code does not say so", ({ env }) => "CLAUDECODE" in env, [
  [false, { env: { PATH: "/bin", CLAUDECODE: "1" } }],
]);

rule("the child gets the user's own files", (planned) => {
  const claudeJson = jsonOf(planned, ".claude/.claude.json");
  return [
    fileOf(planned, ".claude/settings.json"),
    [claudeJson.userID, claudeJson.customApiKeyResponses?.approved],
    Object.keys(claudeJson.projects),
    planned.contents.userConfigDir,
  ];
}, [
  [[undefined, [undefined, undefined], ["/w/inner", "/w"], "/u/.claude"]],
  [
    ['{"model":"opus"}', ["me", ["key"]], ["/w", "/added"], "/u/.claude"],
    { env: { ANTHROPIC_API_KEY: "key" } },
    {
      ...user({ model: "opus", hooks: {} }),
      userClaudeJson: { userID: "me" },
      folders: ["/w", "/w", "/added"],
    },
  ],
]);

const [TMP, VAR_TMP] = ["/tmp/claude-print-1", "/var/tmp/claude-print-1"];

rule("folders of other runs are hidden and closed", (planned) => [
  planned.contents.footholds,
  settingsOf(planned).permissions.deny.length / 2,
  settingsOf(planned).sandbox.filesystem.denyRead,
], [
  [[[], 1, [TMP, VAR_TMP]]],
  // bubblewrap can hide a folder only once it exists.
  [[[VAR_TMP], 1, [TMP, VAR_TMP]], {}, { sandboxLack: [] }],
  [[[VAR_TMP], 2, [TMP, VAR_TMP]], {}, { writable: ["/"] }],
  [[[], 2, [TMP, VAR_TMP]], {}, { writable: ["/w", TMP] }],
  // The run works in the temporary folder of another run.
  [[[], 1, [TMP]], {}, { writable: ["/"], folders: [`${VAR_TMP}/5-6-00000000/tmp`] }],
]);

rule("the child's hooks know the secret", (planned) => [
  planned.contents.secret,
  fileOf(planned, "own/hook")?.includes("'s3cret'"),
  planned.conversation.session.unattended,
], [
  [["s3cret", true, undefined]],
  [["s3cret", true, true], { unattended: true }],
]);

rule("without printed thinking the API is not asked for it", (planned) => [
  argsOf(planned, "--thinking-display"),
  planned.env["CLAUDE_CODE_THINKING_DISPLAY_UPDATES"],
  settingsOf(planned).showThinkingSummaries,
], [
  [[[], undefined, undefined]],
  [[["omitted"], "0", true], { omitsThinking: true }],
  [[["summarized"], "0", true], {
    omitsThinking: true,
    forwarded: ["--thinking-display=summarized"],
  }],
]);

const NEITHER = { "diff@builtin": false, "agents-md@builtin": false };
const AGENTS_MD = { "diff@builtin": false };
const instructions = (claude: boolean, agents = false, skills = false) => ({
  instructions: { claude, agents, skills },
});
const CLAUDE_MD = instructions(true);
const BASH = { forwarded: ["--allowedTools=Bash"] };

rule("idle builtin plugins are disabled", "settings.enabledPlugins", [
  [NEITHER],
  // A tool may write an AGENTS.md.
  [AGENTS_MD, { permissionMode: "acceptEdits" }],
  [AGENTS_MD, BASH],
  [AGENTS_MD, {}, user({ permissions: { allow: ["Bash"] } })],
  [AGENTS_MD, {}, project({ hooks: { Stop: [] } })],
  // Skills may allow tools.
  [AGENTS_MD, {}, instructions(false, false, true)],
  [AGENTS_MD, {}, instructions(true, true)],
  // A CLAUDE.md wins over an AGENTS.md, where it counts.
  [NEITHER, { permissionMode: "acceptEdits", ...BASH }, CLAUDE_MD],
  [AGENTS_MD, { forwarded: ["--worktree=w"] }, CLAUDE_MD],
  [AGENTS_MD, {}, { ...CLAUDE_MD, ...user({ claudeMdExcludes: ["/w/CLAUDE.md"] }) }],
  [undefined, {}, {
    ...CLAUDE_MD,
    ...user({ enabledPlugins: { "cc-plugin-diff@builtin": true, "agents-md@builtin": true } }),
  }],
  [AGENTS_MD, {}, {
    ...CLAUDE_MD,
    ...user({
      pluginConfigs: {
        "agents-md@builtin": { options: { instructionFiles: "claude-md-and-agents-md" } },
      },
    }),
  }],
  [{ "p@m": true, "diff@builtin": true, "agents-md@builtin": false }, {}, {
    callerSettings: { enabledPlugins: { "p@m": true, "diff@builtin": true } },
    ...CLAUDE_MD,
    ...flags({ enabledPlugins: { "p@m": true, "diff@builtin": true } }),
  }],
]);
