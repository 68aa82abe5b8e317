import { assertEquals, assertThrows } from "@std/assert";
import { CliError } from "../../../src/cli_error.ts";
import { callerAgents } from "../../../src/run/plan/caller_agents.ts";
import type { OtherAgents } from "../../../src/run/plan/placed_agents.ts";
import { type Plan, plan } from "../../../src/run/plan/plan.ts";
import type { PlanFacts } from "../../../src/run/plan/plan_facts.ts";
import { resumedPart } from "../../../src/run/plan/resumed_part.ts";
import type { RunOrder } from "../../../src/run/plan/run_order.ts";
import type { Settings } from "../../../src/sandbox/child/read_settings.ts";
import type { JsonObject } from "../../../src/json_object.ts";
import { PLAIN_ORDER } from "../plain_order.ts";

const FRESH = "11111111-1111-4111-8111-111111111111";
const NAMED = "22222222-2222-4222-8222-222222222222";
const EARLIER = "33333333-3333-4333-8333-333333333333";
const FOLDER = "/tmp/claude-print-1/7-8-00000000";

const FACTS: PlanFacts = {
  binary: "/bin/claude",
  version: undefined,
  userConfig: { dir: "/u/.claude", claudeJson: "/u/.claude.json", loginDir: "/u/.claude" },
  userClaudeJson: undefined,
  callerSettings: {},
  documents: [],
  warnings: [],
  settings: [],
  login: { kind: "helper" },
  credentials: [],
  mcpServers: [],
  gated: { expands: false },
  projectRoot: "/w/inner",
  root: "/w",
  folders: ["/w/inner", "/w"],
  writable: ["/w/inner"],
  scheduledTasks: false,
  instructions: { claude: false, agents: false, skills: false },
  terminalSize: { rows: 50, cols: 220 },
  timeLeftMs: 59_000,
  freshId: FRESH,
  seed: "44444444-4444-4444-8444-444444444444",
  found: {},
  folder: FOLDER,
  runs: ["/tmp/claude-print-1", "/var/tmp/claude-print-1"],
  secret: "s3cret",
  pid: 4711,
  now: 1_700_000_000_000,
};

const SERVER = { name: "s", source: "dynamic", disabled: false, config: {} } as const;

/** An order and facts, as far as they are not those above, and what is seen of the plan for them. */
interface Row {
  readonly order?: Partial<RunOrder>;
  readonly facts?: Partial<PlanFacts>;
  /** The agents of the file that `--agents` names, and those of the user and the project. */
  readonly ofFile?: string;
  readonly others?: OtherAgents;
  readonly is: unknown;
}

const planOf = ({ order: given, facts: known, ...agents }: Omit<Row, "is"> = {}): Plan => {
  const order = { ...PLAIN_ORDER, ...given };
  const facts = { ...FACTS, callerAgents: callerAgents(order, agents), ...known };
  const shortened = resumedPart(order, facts);
  return plan(order, { ...facts, ...(shortened === undefined ? {} : { shortened }) });
};

const argsOf = ({ args }: Plan, flag: string): readonly string[] =>
  args.filter((each) => each.startsWith(`${flag}=`)).map((each) => each.slice(flag.length + 1));

/** The text of a file below the private folder. */
const fileOf = ({ contents }: Plan, name: string): string | undefined =>
  contents.files.find(({ path }) => path === `${FOLDER}/${name}`)?.text;

const settingsOf = (planned: Plan) => JSON.parse(fileOf(planned, "own/settings.json") ?? "");

/** The debug log: where the child is told to write it, how much, and who reads it. */
const logOf = (planned: Plan) => ({
  argument: argsOf(planned, "--debug-file")[0],
  level: planned.env["CLAUDE_CODE_DEBUG_LOG_LEVEL"],
  retries: planned.retryLog,
  mcp: planned.mcpLog,
});

/** The session: its id, how it and the one it goes on with are named to the child, whose transcript is copied in, and whether it must not be known. */
const sessionOf = (planned: Plan) => ({
  id: planned.sessionId,
  argument: argsOf(planned, "--session-id")[0],
  resumed: argsOf(planned, "--resume"),
  copied: planned.contents.resume,
  isNew: planned.contents.isNewSession,
});

const from = (source: Settings["source"], values: Settings["values"]): Settings => ({
  source,
  values,
});

/** A test for each rule: what is seen of a plan, and what it is for each row. Files and the environment are out of reach. */
function rule(
  name: string,
  { see, rows }: {
    readonly see: (planned: Plan) => unknown;
    readonly rows: Readonly<Record<string, Row>>;
  },
): void {
  Deno.test({
    name: `plan(): ${name}`,
    permissions: "none",
    fn: () => {
      for (const [what, { is, ...row }] of Object.entries(rows)) {
        const planned = planOf(row);
        assertEquals(see(planned), is, what);
        assertEquals(planOf(row), planned, `${what}: the same again`);
      }
    },
  });
}

rule("a headless Claude Code is there for a caller's questions, and for a prompt that it answers", {
  see: ({ twin }) =>
    twin && {
      args: twin.args.slice(1),
      serverArgs: twin.serverArgs,
      configDir: twin.env["CLAUDE_CONFIG_DIR"],
      socket: twin.env["CLAUDE_BG_RENDEZVOUS_SOCK"],
      settings: twin.settings.values,
    },
  rows: {
    "a run of one prompt": { is: undefined },
    "a prompt that it answers": {
      order: { prompt: "/context", forwarded: ["--debug", "--model=opus"] },
      facts: { gated: { expands: false, asked: { version: "2.1.330" } } },
      is: {
        args: [
          ...["--input-format=stream-json", "--output-format=stream-json", "--verbose"],
          `--settings=${FOLDER}/own/twin.json`,
          ...["--permission-mode=default", "--model=opus"],
        ],
        serverArgs: [],
        configDir: `${FOLDER}/own/twin`,
        socket: undefined,
        settings: {},
      },
    },
    "a conversation": {
      order: {
        prompt: undefined,
        disallowedTools: ["X"],
        mcpConfigs: ["mcp.json"],
        callerServers: ["gone"],
        setServers: { mine: { type: "sdk" }, other: { command: "x" } },
        sessionId: NAMED,
        forwarded: ["--model=opus", "--mcp-config=mcp.json", `--session-id=${NAMED}`, "--name=N"],
      },
      facts: { callerSettings: { model: "m" } },
      is: {
        args: [
          ...["--input-format=stream-json", "--output-format=stream-json", "--verbose"],
          `--settings=${FOLDER}/own/twin.json`,
          ...["--permission-mode=default", "--disallowedTools=X", "--model=opus"],
        ],
        serverArgs: [`--mcp-config=${FOLDER}/own/set-mcp.json`, "--mcp-config=mcp.json"],
        configDir: `${FOLDER}/own/twin`,
        socket: undefined,
        settings: { model: "m" },
      },
    },
  },
});

const KEEPING = { CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING: "1" };

rule("what files were before is kept with the session where claude -p keeps it", {
  see: ({ contents: { keepsBackups }, twin }) => [keepsBackups, twin !== undefined],
  rows: {
    "nobody has asked for it": { is: [undefined, false] },
    "the environment asks for it": { order: { env: KEEPING }, is: [true, false] },
    "settings have the last word": {
      order: { env: KEEPING },
      facts: {
        settings: [{
          source: "user",
          values: { env: { CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING: "0" } },
        }],
      },
      is: [undefined, false],
    },
    "the session is not kept": {
      order: { env: KEEPING, persistSession: false },
      is: [undefined, false],
    },
    "files are restored, which a headless Claude Code does": {
      order: { env: KEEPING, persistSession: false, prompt: "", rewindsTo: "m" },
      facts: { gated: { expands: false, rewinds: true } },
      is: [true, true],
    },
  },
});

const LONG_AGENT = { description: "d", prompt: "x".repeat(120_000) };

const askingFor = (longAgents: JsonObject): Partial<RunOrder> => ({
  prompt: undefined,
  initialized: { id: "i", callbacks: [], servers: [], longAgents },
});

rule("agents that are too long for a command line are files as the user has them", {
  see: ({ args, contents, conversation: { session }, twin }) => ({
    args: args.filter((each) => /^--(?:agents|setting-sources)/u.test(each)),
    files: contents.files.filter(({ path }) => path.startsWith(`${FOLDER}/.claude/agents/`))
      .map(({ path, text }) => [path.slice(FOLDER.length), text.length > 120_000]),
    hidesUser: contents.hidesUser,
    servers: JSON.parse(
      contents.files.find(({ path }) => path.endsWith("/.claude.json"))?.text ?? "",
    ).mcpServers,
    error: session.caller?.initialized?.error,
    otherStopHooks: session.otherStopHooks,
    twin: twin && [
      Object.keys(twin.agents ?? {}),
      twin.args.filter((each) => /^--(?:agents|setting-sources)/u.test(each)),
    ],
  }),
  rows: {
    "of none there is nothing to see": {
      facts: { userClaudeJson: { mcpServers: { s: {} } } },
      is: {
        args: [],
        files: [],
        hidesUser: false,
        servers: { s: {} },
        error: undefined,
        otherStopHooks: false,
        twin: undefined,
      },
    },
    "the user's own are read too": {
      order: {
        ...askingFor({ a: LONG_AGENT, "../b": LONG_AGENT, c: { ...LONG_AGENT, prompt: "c" } }),
        settingSources: "project,user",
        forwarded: ["--setting-sources=project,user"],
      },
      facts: { userClaudeJson: { mcpServers: { s: {} } } },
      others: { names: ["c"] },
      is: {
        args: ["--setting-sources=project,user", '--agents={"c":{"description":"d","prompt":"c"}}'],
        files: [["/.claude/agents/0.md", true], ["/.claude/agents/1.md", true]],
        hidesUser: false,
        servers: { s: {} },
        error: undefined,
        otherStopHooks: true,
        twin: [["a", "../b", "c"], ["--setting-sources=project,user"]],
      },
    },
    "nothing of the user's is read that was not to be": {
      order: {
        ...askingFor({ a: LONG_AGENT }),
        settingSources: "project",
        forwarded: ["--setting-sources=project"],
      },
      facts: { userClaudeJson: { mcpServers: { s: {} } } },
      is: {
        args: ["--setting-sources=project", "--setting-sources=user,project"],
        files: [["/.claude/agents/0.md", true]],
        hidesUser: true,
        servers: undefined,
        error: undefined,
        otherStopHooks: true,
        twin: [["a"], ["--setting-sources=project"]],
      },
    },
    "those of a file are too, in whose place nothing is given": {
      order: { forwarded: ["--agents=a.json"] },
      ofFile: JSON.stringify({ a: LONG_AGENT }),
      is: {
        args: ["--agents=a.json", "--agents={}"],
        files: [["/.claude/agents/0.md", true]],
        hidesUser: false,
        servers: undefined,
        error: undefined,
        otherStopHooks: true,
        twin: undefined,
      },
    },
    "what has no place is refused": {
      order: { ...askingFor({ a: LONG_AGENT }), forwarded: ["--restricted"] },
      is: {
        args: [],
        files: [],
        hidesUser: false,
        servers: undefined,
        error:
          '"agents" is too long for a command line, and no file can hold "a": --restricted leaves no file to be read',
        otherStopHooks: true,
        twin: [[], []],
      },
    },
  },
});

const HOOKED = (source: "user" | "project"): Partial<PlanFacts> => ({
  settings: [{ source, values: { hooks: { PreModelSwitch: [] } } }],
});

rule("a hook that has a say in another model is known, and of the user's only those that are run", {
  see: ({ conversation: { session: { caller } } }) => caller?.watchesModels,
  rows: {
    "nobody's": { order: { prompt: undefined }, is: undefined },
    "the project's": { order: { prompt: undefined }, facts: HOOKED("project"), is: true },
    "the user's": { order: { prompt: undefined }, facts: HOOKED("user"), is: undefined },
    "the user's that are run": {
      order: { prompt: undefined, inheritHooks: true },
      facts: HOOKED("user"),
      is: true,
    },
  },
});

rule("where nothing tells of what the model thinks, the API is not asked for it", {
  see: (planned) => [
    argsOf(planned, "--thinking-display"),
    planned.env["CLAUDE_CODE_THINKING_DISPLAY_UPDATES"],
    settingsOf(planned).showThinkingSummaries,
  ],
  rows: {
    "frames": { is: [[], undefined, undefined] },
    "text, or json alone": { order: { omitsThinking: true }, is: [["omitted"], "0", true] },
    "the same, where the caller says what to ask for": {
      order: { omitsThinking: true, forwarded: ["--thinking-display=summarized"] },
      is: [["summarized"], "0", true],
    },
  },
});

rule("commands are in a sandbox where settings ask for one that is to be had", {
  see: ({ conversation: { frames } }) => frames.sandboxed,
  rows: {
    "none is asked for": { is: undefined },
    "it is there": { facts: { sandboxLack: [] }, is: true },
    "it is not": { facts: { sandboxLack: ["socat"] }, is: undefined },
  },
});

const NAMED_SERVERS = (["dynamic", "project"] as const).map((source) => ({
  name: source,
  source,
  disabled: false,
  config: {},
}));

rule("servers of the command line are waited for until they are there", {
  see: ({ conversation: { session } }) => [session.mcpServers, session.awaited],
  rows: {
    "those that are configured": { facts: { mcpServers: NAMED_SERVERS }, is: [2, ["dynamic"]] },
    "those that are switched off": {
      facts: {
        mcpServers: NAMED_SERVERS.map((server) => ({ ...server, disabled: true })),
      },
      is: [undefined, undefined],
    },
    "those that could not be reached before": {
      order: { unreached: ["dynamic"] },
      facts: { mcpServers: NAMED_SERVERS },
      is: [2, undefined],
    },
  },
});

rule("a server that could not be reached when it was set is told of as that", {
  see: ({ conversation: { frames } }) =>
    frames.servers?.filter(({ unreached }) => unreached).map(({ name }) => name),
  rows: {
    "none was tried": { facts: { mcpServers: NAMED_SERVERS }, is: [] },
    "one was": {
      order: { unreached: ["dynamic"] },
      facts: { mcpServers: NAMED_SERVERS },
      is: ["dynamic"],
    },
  },
});

const OUTPUT = { schema: { title: "An answer" }, problemsOf: () => [] };

rule("the Stop of a conversation waits for an answer, and that of one message where it needs one", {
  see: (planned) => settingsOf(planned).hooks.Stop[0].hooks[0].command.startsWith("set -- asks "),
  rows: {
    "one prompt": { is: false },
    "a conversation": { order: { prompt: undefined }, is: true },
    "one prompt, out as a text": { order: { answerAlone: true }, is: false },
    "a conversation of which a text alone is printed": {
      order: { prompt: undefined, answerAlone: true },
      is: false,
    },
    "the same, and a structured answer": {
      order: { prompt: undefined, answerAlone: true },
      facts: { output: OUTPUT },
      is: true,
    },
    "as many requests as there may be": { order: { maxTurns: 3 }, is: false },
    "the same, and a hook that may want more": {
      order: { maxTurns: 3 },
      facts: { settings: [from("project", { hooks: { Stop: [] } })] },
      is: true,
    },
  },
});

rule(
  "structured answers are a tool of ours, which needs no permission and stands in the first request",
  {
    see: (planned) => ({
      config: argsOf(planned, "--mcp-config"),
      servers: JSON.parse(fileOf(planned, "own/mcp.json") ?? "{}").mcpServers,
      allowed: settingsOf(planned).permissions.allow,
      asking: ["Stop", "PostToolBatch"].map((event) =>
        settingsOf(planned).hooks[event]?.[0].hooks[0].command.startsWith("set -- asks ") ?? "none"
      ),
      session: planned.conversation.session.output,
      frames: planned.conversation.frames.output,
      tries: planned.conversation.report.outputTries,
      error: planned.conversation.session.caller?.initialized?.error,
    }),
    rows: {
      "none are wanted": {
        is: {
          config: [],
          servers: undefined,
          allowed: undefined,
          asking: [false, "none"],
          session: undefined,
          frames: undefined,
          tries: undefined,
          error: undefined,
        },
      },
      "they are": {
        order: {
          jsonSchema: "{}",
          env: { ...PLAIN_ORDER.env, MAX_STRUCTURED_OUTPUT_RETRIES: "7.5" },
        },
        facts: { output: OUTPUT, callerSettings: { permissions: { allow: ["Bash"] } } },
        is: {
          config: [`${FOLDER}/own/mcp.json`],
          servers: {
            "claude-print": {
              type: "stdio",
              command: "/bin/sh",
              args: [`${FOLDER}/own/mcp-bridge`, "0"],
              alwaysLoad: true,
            },
          },
          allowed: ["mcp__claude-print__StructuredOutput", "Bash"],
          asking: [true, true],
          session: { schema: OUTPUT.schema, maxTries: 7 },
          frames: true,
          tries: 7,
          error: undefined,
        },
      },
      "an initialization cannot have them": {
        order: {
          prompt: undefined,
          initialized: { id: "i", callbacks: [], servers: [], error: "a" },
        },
        facts: { outputProblem: "b" },
        is: {
          config: [],
          servers: undefined,
          allowed: undefined,
          asking: [true, "none"],
          session: undefined,
          frames: undefined,
          tries: undefined,
          error: "a; b",
        },
      },
    },
  },
);

const PROMPT_SERVER = {
  name: "p.q",
  config: { command: "node", args: ["s.js"], env: { A: "${A}" } },
};

rule("a tool that decides on permissions is a server's behind a bridge, and not the model's", {
  see: (planned) => ({
    hidden: argsOf(planned, "--disallowedTools"),
    config: planned.args.findIndex((arg) => arg === `--mcp-config=${FOLDER}/own/mcp.json`) >
      planned.args.indexOf("--mcp-config=theirs.json"),
    servers: JSON.parse(fileOf(planned, "own/mcp.json") ?? "{}").mcpServers,
    waits: planned.conversation.session.mcpServers,
    tool: planned.conversation.session.caller?.promptTool,
    denials: planned.conversation.frames.denialsUntold,
    relayed: planned.contents.relayed,
    told: planned.conversation.frames.servers?.map((server) => Object.keys(server).join()),
  }),
  rows: {
    "its server is a program": {
      order: { promptTool: "mcp__p_q__ask", forwarded: ["--mcp-config=theirs.json"] },
      facts: {
        promptServer: PROMPT_SERVER,
        mcpServers: [SERVER, { ...SERVER, name: "p.q", config: PROMPT_SERVER.config }],
      },
      is: {
        hidden: ["mcp__p_q__ask", "Agent(claude-code-guide)"],
        config: true,
        servers: {
          "p.q": {
            type: "stdio",
            command: "/bin/sh",
            args: [`${FOLDER}/own/mcp-bridge`, "0", "node", "s.js"],
            env: { A: "${A}" },
          },
        },
        waits: 2,
        tool: { name: "mcp__p_q__ask", server: "p.q", tool: "ask" },
        denials: true,
        relayed: "p.q",
        told: ["name,source,disabled", "name,source,disabled"],
      },
    },
    "its server is the caller's": {
      order: {
        promptTool: "mcp__o_wn__ask",
        forwarded: ["--mcp-config=theirs.json"],
        callerServers: ["o.wn"],
      },
      facts: { mcpServers: [SERVER] },
      is: {
        hidden: ["mcp__o_wn__ask", "Agent(claude-code-guide)"],
        config: true,
        servers: {
          "o.wn": {
            type: "stdio",
            command: "/bin/sh",
            args: [`${FOLDER}/own/mcp-bridge`, "0"],
          },
        },
        waits: 2,
        tool: { name: "mcp__o_wn__ask", tool: "ask", ownServer: "o.wn" },
        denials: true,
        relayed: undefined,
        told: ["name,source,disabled", "name,source,disabled"],
      },
    },
    "there is no such server": {
      order: { promptTool: "mcp__x__ask", forwarded: ["--mcp-config=theirs.json"] },
      facts: { mcpServers: [SERVER] },
      is: {
        hidden: ["mcp__x__ask", "Agent(claude-code-guide)"],
        config: false,
        servers: undefined,
        waits: 1,
        tool: { name: "mcp__x__ask", tool: "mcp__x__ask" },
        denials: true,
        relayed: undefined,
        told: ["name,source,disabled"],
      },
    },
  },
});

rule("no program is started for the screen, whoever names one later", {
  see: (planned) => {
    const { statusLine, subagentStatusLine, fileSuggestion } = settingsOf(planned);
    return [statusLine, subagentStatusLine, fileSuggestion].map(({ command }) => command);
  },
  rows: { "there is none": { is: ["", "", ""] } },
});

rule("hooks that somebody has silenced do not run, and ours do", {
  see: (planned) => ({
    settings: Object.keys(settingsOf(planned).hooks),
    plugin: Object.keys(
      JSON.parse(fileOf(planned, "own/hooks-plugin/.claude-plugin/plugin.json") ?? "{}").hooks ??
        {},
    ).includes("Stop"),
    args: planned.args.filter((argument) => /^--(?:managed|plugin)/u.test(argument)),
    twin: planned.twin?.args.filter((argument) => /^--(?:managed|plugin)/u.test(argument)),
    awaited: planned.conversation.session.otherStopHooks,
  }),
  rows: {
    "the user has": {
      facts: {
        callerSettings: { hooks: { Notification: [] } },
        settings: [
          from("user", { disableAllHooks: true }),
          from("project", { hooks: { Stop: [] } }),
        ],
      },
      is: {
        settings: ["Notification"],
        plugin: true,
        args: [
          '--managed-settings={"strictPluginOnlyCustomization":["hooks"]}',
          `--plugin-dir=${FOLDER}/own/hooks-plugin`,
        ],
        twin: undefined,
        awaited: false,
      },
    },
    "a conversation, with managed settings of the caller's": {
      order: {
        prompt: undefined,
        forwarded: ['--managed-settings={"a":1,"strictPluginOnlyCustomization":["skills"]}'],
      },
      facts: { settings: [from("flags", { disableAllHooks: true })] },
      is: {
        settings: [],
        plugin: true,
        args: [
          '--managed-settings={"a":1,"strictPluginOnlyCustomization":["skills"]}',
          '--managed-settings={"a":1,"strictPluginOnlyCustomization":["skills","hooks"]}',
          `--plugin-dir=${FOLDER}/own/hooks-plugin`,
        ],
        twin: ['--managed-settings={"a":1,"strictPluginOnlyCustomization":["skills"]}'],
        awaited: false,
      },
    },
  },
});

rule("the arguments are those of the recipe, in their order", {
  see: ({ args }) => args,
  rows: {
    "nothing asked for": {
      is: [
        "--permission-mode=default",
        "--disallowedTools=AskUserQuestion,EnterPlanMode,ExitPlanMode",
        "--disallowedTools=Agent(claude-code-guide)",
        `--settings=${FOLDER}/own/settings.json`,
        `--session-id=${FRESH}`,
      ],
    },
    "flags of the caller's, and a log of ours": {
      order: {
        disallowedTools: ["WebFetch,Edit", "X"],
        forwarded: ["--model=opus", "--name=Be brief. --now"],
        retries: true,
      },
      is: [
        "--permission-mode=default",
        "--disallowedTools=AskUserQuestion,EnterPlanMode,ExitPlanMode",
        "--disallowedTools=Agent(claude-code-guide)",
        "--disallowedTools=WebFetch,Edit",
        "--disallowedTools=X",
        `--settings=${FOLDER}/own/settings.json`,
        `--session-id=${FRESH}`,
        "--model=opus",
        "--name=Be brief. --now",
        `--debug-file=${FOLDER}/own/debug.log`,
      ],
    },
  },
});

rule("what a caller allows of skills and servers is in settings", {
  see: (planned) => {
    const { skillOverrides, permissions: { deny, ask } } = settingsOf(planned);
    const servers = JSON.parse(fileOf(planned, "own/mcp.json") ?? "{}").mcpServers;
    return {
      skillOverrides,
      denied: deny.filter((rule: string) => !/^(?:Edit|Read)\(/u.test(rule)),
      ask,
      timeouts: Object.values(servers ?? {}).map((server) => (server as JsonObject)["timeout"]),
      warnings: planned.warnings,
    };
  },
  rows: {
    "nothing is asked for": {
      is: { skillOverrides: undefined, denied: [], ask: undefined, timeouts: [], warnings: [] },
    },
    "skills are hidden, but for what is off": {
      order: {
        ineffective: ["--y has no effect"],
        initialized: {
          id: "i",
          callbacks: [],
          servers: [],
          ineffective: ['"x" has no effect'],
        },
      },
      facts: {
        hiddenSkills: { own: ["a", "b", "e"], ofPlugins: ["p:c"] },
        callerSettings: { skillOverrides: { d: "name-only" }, permissions: { deny: ["Bash"] } },
        settings: [
          from("user", { skillOverrides: { b: "off", a: "name-only" } }),
          // Who turns one off and on again does not show it.
          from("project", { skillOverrides: { e: "off" } }),
          from("local", { skillOverrides: { e: "on" } }),
        ],
      },
      is: {
        skillOverrides: { d: "name-only", a: "user-invocable-only", e: "user-invocable-only" },
        denied: ["Bash", "Skill(p:c)"],
        ask: undefined,
        timeouts: [],
        warnings: ["--y has no effect", '"x" has no effect'],
      },
    },
    "terms of servers": {
      order: {
        initialized: {
          id: "i",
          callbacks: [],
          servers: ["s", "t"],
          serverConfigs: {
            s: {
              timeout: 2000,
              tools: [
                { name: "a", permission_policy: "always_ask" },
                { name: "b.c", permission_policy: "always_deny" },
                { name: "d", permission_policy: "always_allow" },
                ...[{ name: "e", permission_policy: "odd" }, { name: "f" }, { name: 7 }, 7],
              ],
            },
            t: { timeout: 1.5, tools: "x" },
            u: 7,
            // Its tools are called mcp__v____…: two units, two of them.
            "v😀": {
              tools: ["g😀", "*", "h(*)", "", "__proto__"].map((name) => ({
                name,
                permission_policy: "always_deny",
              })),
            },
          },
        },
      },
      is: {
        skillOverrides: undefined,
        denied: [
          "mcp__s__b_c",
          ...["g__", "_", "h___", "", "__proto__"].map((name) => `mcp__v____${name}`),
        ],
        ask: ["mcp__s__a", "mcp__s__e"],
        timeouts: [2000, undefined],
        warnings: [],
      },
    },
    "times that are none": {
      order: {
        initialized: {
          id: "i",
          callbacks: [],
          servers: ["s", "t", "u"],
          serverConfigs: { s: { timeout: -5 }, t: { timeout: 0 }, u: { timeout: 1e308 } },
        },
      },
      is: {
        skillOverrides: undefined,
        denied: [],
        ask: undefined,
        timeouts: [undefined, undefined, undefined],
        warnings: [],
      },
    },
    "terms of servers that were set": {
      order: {
        initialized: {
          id: "i",
          callbacks: [],
          servers: ["s"],
          serverConfigs: { s: { timeout: 1 } },
        },
        setServers: { s: { type: "sdk", timeout: 3000 }, other: { command: "x", timeout: 4 } },
      },
      is: { skillOverrides: undefined, denied: [], ask: undefined, timeouts: [3000], warnings: [] },
    },
  },
});

rule("a tool that loads skills asks where some have been chosen", {
  see: (planned) => [
    settingsOf(planned).hooks.PreToolUse?.map(({ matcher }: JsonObject) => matcher),
    planned.conversation.session.skills,
  ],
  rows: {
    "all are there": { is: [undefined, undefined] },
    "some are chosen": {
      order: { initialized: { id: "i", callbacks: [], servers: [], skills: ["a"] } },
      is: [["Skill"], ["a"]],
    },
    "none is, and all tools have a budget": {
      order: { initialized: { id: "i", callbacks: [], servers: [], skills: [] }, maxBudgetUsd: 1 },
      is: [[undefined], []],
    },
  },
});

const ALLOWING_BYPASS = ["--allow-dangerously-skip-permissions"];

rule("a child is never in a mode without permissions because one may be had later", {
  see: (planned) => settingsOf(planned).permissions.disableBypassPermissionsMode,
  rows: {
    "nothing is said of it": { is: undefined },
    "it may be had": { order: { forwarded: ALLOWING_BYPASS }, is: "disable" },
    "the same in plan mode": {
      order: { forwarded: ALLOWING_BYPASS, permissionMode: "plan" },
      facts: { version: "2.1.330", callerSettings: { permissions: { deny: ["Bash"] } } },
      is: "disable",
    },
    "it is had": {
      order: { forwarded: ALLOWING_BYPASS, permissionMode: "bypassPermissions" },
      is: undefined,
    },
  },
});

rule("texts of the caller's are in files, as far as Claude Code takes them from there", {
  see: (planned) => ({
    args: planned.args.slice(5),
    files: planned.contents.files.filter(({ path }) => /-prompt|mcp/u.test(path))
      .map(({ path, text }) => [path.slice(FOLDER.length + 5), text]),
  }),
  rows: {
    "prompts, also an empty one, and servers": {
      order: {
        forwarded: [
          ...["--system-prompt=", "--append-system-prompt=a=b\n", '--mcp-config= {"a":1}'],
          ...["--mcp-config=s.json", "--mcp-config={}", "--model=opus"],
        ],
      },
      is: {
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
    },
    "what is no JSON is a path, and agents are taken from no file": {
      order: { forwarded: ["--mcp-config={a", "--mcp-config=[]", '--agents={"a":{}}'] },
      is: { args: ["--mcp-config={a", "--mcp-config=[]", '--agents={"a":{}}'], files: [] },
    },
    "beside a file of the same a text is another thing": {
      order: {
        initialized: { id: "1", callbacks: [], servers: [], appendSystemPrompt: "first" },
        forwarded: [
          ...["--system-prompt=a", "--system-prompt-file=b", "--append-system-prompt=c"],
        ],
      },
      is: {
        args: [`--session-id=${FRESH}`, "--system-prompt=a", "--system-prompt-file=b"]
          .concat("--append-system-prompt=c"),
        files: [["append-system-prompt", "first"]],
      },
    },
  },
});

rule("what settings say of a variable that is the run's to decide does not count", {
  see: (planned) => settingsOf(planned).env ?? {},
  rows: {
    "one that takes hooks away": {
      facts: { settings: [from("project", { env: { CLAUDE_CODE_SIMPLE: "1", OTHER: "1" } })] },
      is: { CLAUDE_CODE_SIMPLE: "" },
    },
    "one that moves the child": {
      facts: {
        callerSettings: { env: { MINE: "1" } },
        settings: [from("local", { env: { CLAUDE_CONFIG_DIR: "/evil" } })],
      },
      is: { MINE: "1", CLAUDE_CONFIG_DIR: `${FOLDER}/.claude` },
    },
    "beside a flag that takes hooks away itself": {
      order: { forwarded: ["--bare"] },
      facts: { settings: [from("project", { env: { CLAUDE_CODE_SIMPLE: "1" } })] },
      is: {},
    },
  },
});

rule("a project whose settings say more than its hooks is not to be trusted in the user's place", {
  see: ({ conversation }) => conversation.session.needsTrust ?? false,
  rows: {
    "no settings": { is: false },
    "the user's own": { facts: { settings: [from("user", { model: "m" })] }, is: false },
    "hooks, which run without trust": {
      facts: { settings: [from("project", { $schema: "s", hooks: {} })] },
      is: false,
    },
    "a rule of the project's": {
      facts: { settings: [from("project", { hooks: {}, permissions: { allow: ["Bash"] } })] },
      is: true,
    },
    "something local": { facts: { settings: [from("local", { env: {} })] }, is: true },
  },
});

const projectBypasses = [
  from("project", { permissions: { defaultMode: "bypassPermissions" } }),
];

rule(
  "what flags add to requests is in the environment, and in the settings where these name it too",
  {
    see: (planned) => ({
      betas: planned.env["ANTHROPIC_BETAS"],
      settings: settingsOf(planned).env,
      warnings: planned.warnings.length,
    }),
    rows: {
      "nothing asked for": { is: { betas: undefined, settings: undefined, warnings: 0 } },
      "a header": {
        order: { betas: ["context-1m-2025-08-07"] },
        is: { betas: "context-1m-2025-08-07", settings: undefined, warnings: 0 },
      },
      "a header that Claude Code does not take": {
        order: { betas: ["x"] },
        is: { betas: undefined, settings: undefined, warnings: 1 },
      },
      "a header beside those of settings": {
        order: { betas: ["context-1m-2025-08-07"] },
        facts: {
          callerSettings: { env: { A: "b" } },
          settings: [from("project", { env: { ANTHROPIC_BETAS: "c" } })],
        },
        is: {
          betas: "c,context-1m-2025-08-07",
          settings: { A: "b", ANTHROPIC_BETAS: "c,context-1m-2025-08-07" },
          warnings: 0,
        },
      },
    },
  },
);

rule("the user's own hooks run where they are asked for", {
  see: (planned) => ({
    user: JSON.parse(fileOf(planned, ".claude/settings.json") ?? "{}"),
    awaited: planned.conversation.session.otherStopHooks,
  }),
  rows: {
    "by default they do not": {
      facts: {
        settings: [from("user", { hooks: { Stop: [] }, statusLine: {}, model: "opus" })],
      },
      is: { user: { model: "opus" }, awaited: false },
    },
    "asked for, and silenced by --settings, they do not": {
      order: { inheritHooks: true },
      facts: {
        settings: [
          from("user", { hooks: { Stop: [] }, model: "opus" }),
          from("flags", { disableAllHooks: true }),
        ],
      },
      is: { user: { model: "opus" }, awaited: false },
    },
    "asked for, they do, and may make the turn go on": {
      order: { inheritHooks: true },
      facts: {
        settings: [from("user", { hooks: { Stop: [] }, statusLine: {}, model: "opus" })],
      },
      is: { user: { hooks: { Stop: [] }, model: "opus" }, awaited: true },
    },
  },
});

rule("a debug log that is to be told is all of it", {
  see: (planned) => ({ ...logOf(planned), told: planned.toldLog }),
  rows: {
    "nobody wants it": {
      is: {
        argument: undefined,
        level: undefined,
        retries: undefined,
        mcp: undefined,
        told: undefined,
      },
    },
    "ours": {
      order: { debugToStderr: true, retries: true },
      is: {
        argument: `${FOLDER}/own/debug.log`,
        level: undefined,
        retries: `${FOLDER}/own/debug.log`,
        mcp: undefined,
        told: `${FOLDER}/own/debug.log`,
      },
    },
    "the caller's own file": {
      order: { debugToStderr: true, debug: true, debugFile: "d.log" },
      is: {
        argument: undefined,
        level: undefined,
        retries: undefined,
        mcp: undefined,
        told: "/w/inner/d.log",
      },
    },
  },
});

rule("the permission mode is named, to the child and in frames", {
  see: (planned) => [
    planned.permissionMode,
    ...argsOf(planned, "--permission-mode"),
    planned.conversation.frames.permissionMode,
  ],
  rows: {
    "nobody names one": { is: ["default", "default", "default"] },
    "the caller does": { order: { permissionMode: "plan" }, is: ["plan", "plan", "plan"] },
    "permissions are skipped": {
      order: { permissionMode: "plan", dangerouslySkipPermissions: true },
      is: ["bypassPermissions", "bypassPermissions", "bypassPermissions"],
    },
    "settings do": {
      facts: { settings: [from("project", { permissions: { defaultMode: "acceptEdits" } })] },
      is: ["acceptEdits", "acceptEdits", "acceptEdits"],
    },
    "a project bypasses, and the version is not known": {
      facts: { settings: projectBypasses },
      is: ["default", "default", "default"],
    },
    "nobody names a mode, and the version begins in auto mode": {
      facts: { version: "2.1.285" },
      is: ["auto", "auto", "auto"],
    },
    "a session on the web": {
      order: { env: { CLAUDE_CODE_REMOTE: "true" } },
      facts: { settings: [from("user", { permissions: { defaultMode: "dontAsk" } })] },
      is: ["default", "default", "default"],
    },
  },
});

rule("fast mode is told where flags or the caller's settings ask for it, as by claude -p", {
  see: (planned) => planned.conversation.frames.fastMode,
  rows: {
    "nobody": { is: undefined },
    "settings": { facts: { callerSettings: { fastMode: true } }, is: "on" },
    "a settings file": {
      facts: { settings: [from("user", { fastMode: true })] },
      is: undefined,
    },
    "a flag before settings": {
      order: { forwarded: ["--fast-mode=on", "--fast-mode=off"] },
      facts: { callerSettings: { fastMode: true } },
      is: undefined,
    },
    "a flag": { order: { forwarded: ["--fast-mode=on"] }, is: "on" },
    "a variable before all": {
      order: {
        forwarded: ["--fast-mode=on"],
        env: { ...PLAIN_ORDER.env, CLAUDE_CODE_DISABLE_FAST_MODE: "1" },
      },
      is: "disabled_by_env",
    },
  },
});

rule("files that go home are told by where they will be", {
  see: (planned) => planned.conversation.frames.homes?.child,
  rows: {
    "a session that is kept": { order: { persistSession: true }, is: `${FOLDER}/.claude` },
    "one that is not": { order: { persistSession: false }, is: undefined },
  },
});

rule("outputs of a session that goes on may be read where the model was told they are", {
  see: (planned) => settingsOf(planned).permissions.allow,
  rows: {
    "a new session": { is: undefined },
    "one that goes on": {
      order: { resume: EARLIER },
      is: [`Read(//u/.claude/projects/*/${EARLIER}/tool-results/**)`],
    },
  },
});

const ALWAYS = ["Stop", "StopFailure", "SessionEnd", "PermissionRequest", "Elicitation"];

rule("what asks a relay is told so by its environment, and by settings that win over the user's", {
  see: (planned) => [
    planned.env["ANTHROPIC_BASE_URL"],
    settingsOf(planned).env,
    planned.conversation.frames.partial,
    planned.conversation.frames.heard,
  ],
  rows: {
    "in most runs nothing": { is: [undefined, undefined, undefined, undefined] },
    "with a relay that records, what is printed is the same": {
      order: { record: "r" },
      facts: { relayVariables: { ANTHROPIC_BASE_URL: "http://relay" } },
      is: ["http://relay", undefined, undefined, undefined],
    },
    "with a relay for something else": {
      order: { partialMessages: true, deterministic: true },
      facts: { relayVariables: { ANTHROPIC_BASE_URL: "http://relay" } },
      is: ["http://relay", undefined, true, true],
    },
    "with a relay": {
      order: {
        partialMessages: true,
        exactStream: true,
        env: { ...PLAIN_ORDER.env, ANTHROPIC_BASE_URL: "https://x" },
      },
      facts: {
        relayVariables: { ANTHROPIC_BASE_URL: "http://relay" },
        callerSettings: { env: { OTHER: "1" } },
        settings: [from("user", { env: { ANTHROPIC_BASE_URL: "https://y" } })],
      },
      is: ["http://relay", { ANTHROPIC_BASE_URL: "http://relay", OTHER: "1" }, "exact", undefined],
    },
  },
});

rule(
  "a deterministic run is without memory, the state of a repository and a checksum in each request",
  {
    see: (planned) => [
      ...["DISABLE_AUTO_MEMORY", "DISABLE_GIT_INSTRUCTIONS", "ATTRIBUTION_HEADER"].map((name) =>
        planned.env[`CLAUDE_CODE_${name}`]
      ),
      settingsOf(planned).env,
      planned.conversation.frames.memoryPath !== undefined,
    ],
    rows: {
      "others are not": { is: [undefined, undefined, undefined, undefined, true] },
      "whatever settings say": {
        order: { deterministic: true },
        facts: {
          relayVariables: { ANTHROPIC_BASE_URL: "http://relay" },
          settings: [from("project", { env: { CLAUDE_CODE_ATTRIBUTION_HEADER: "1" } })],
        },
        is: [
          ...["1", "1", "0"],
          {
            ANTHROPIC_BASE_URL: "http://relay",
            CLAUDE_CODE_ATTRIBUTION_HEADER: "0",
            CLAUDE_CODE_DISABLE_AUTO_MEMORY: "1",
            CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS: "1",
          },
          false,
        ],
      },
      "memory can be left out by itself": {
        order: { env: { ...PLAIN_ORDER.env, CLAUDE_CODE_DISABLE_AUTO_MEMORY: "1" } },
        is: ["1", undefined, undefined, undefined, false],
      },
    },
  },
);

rule("hooks are registered where something hangs on them", {
  see: (planned) => Object.keys(settingsOf(planned).hooks),
  rows: {
    "text on stdin": { is: ALWAYS },
    "frames begin with the session": {
      order: { frames: true },
      is: [...ALWAYS, "PreCompact", "PostCompact", "SessionStart"],
    },
    "MCP servers are waited for": {
      facts: { mcpServers: [SERVER] },
      is: [...ALWAYS, "SessionStart"],
    },
    "a paste is to be seen taken": {
      order: { inject: "paste" },
      is: [...ALWAYS, "UserPromptSubmit"],
    },
    "so is what goes to the socket": {
      facts: { gated: { expands: false, verbatim: true } },
      is: [...ALWAYS, "UserPromptSubmit"],
    },
    "so is a prompt that may be altered": {
      order: { altered: "a zero width space" },
      is: [...ALWAYS, "UserPromptSubmit"],
    },
    "answers are told as they are written": {
      order: { partialMessages: true },
      is: [...ALWAYS, "PostToolBatch", "MessageDisplay"],
    },
    "so they are without hooks, if the API's stream is heard": {
      order: { partialMessages: true, exactStream: true },
      is: ALWAYS,
    },
    "turns are counted": { order: { maxTurns: 3 }, is: [...ALWAYS, "PostToolBatch"] },
    "all of it": {
      order: { frames: true, inject: "paste", maxTurns: 3 },
      is: [
        ...ALWAYS,
        "PreCompact",
        "PostCompact",
        "SessionStart",
        "UserPromptSubmit",
        "PostToolBatch",
      ],
    },
  },
});

rule("the hooks have one secret with who listens to them, and know whether anybody is ever asked", {
  see: (planned) => [
    planned.contents.secret,
    fileOf(planned, "own/hook")?.includes("'s3cret'"),
    planned.conversation.session.unattended,
  ],
  rows: {
    "as usual": { is: ["s3cret", true, undefined] },
    "where nobody is ever asked": {
      order: { unattended: true },
      is: ["s3cret", true, true],
    },
  },
});

rule("the prompt goes in on stdin, by a paste, or by the socket", {
  see: (planned) => ({
    inject: planned.message?.way,
    stdin: planned.contents.stdinPath,
    file: fileOf(planned, "own/prompt"),
    rendezvous: planned.rendezvous,
    socket: planned.env["CLAUDE_BG_RENDEZVOUS_SOCK"],
    auth: planned.env["CLAUDE_BG_RV_AUTH"],
  }),
  rows: {
    "as usual": {
      is: {
        inject: "stdin",
        stdin: `${FOLDER}/own/prompt`,
        file: "hello there",
        rendezvous: undefined,
        socket: undefined,
        auth: undefined,
      },
    },
    "a paste is wanted": {
      order: { inject: "paste" },
      is: {
        inject: "paste",
        stdin: undefined,
        file: undefined,
        rendezvous: undefined,
        socket: undefined,
        auth: undefined,
      },
    },
    "a message of a conversation is too long for the socket": {
      order: { prompt: undefined, onStdin: "long" },
      is: {
        inject: undefined,
        stdin: `${FOLDER}/own/prompt`,
        file: "long",
        rendezvous: {
          path: `${FOLDER}/own/rv.sock`,
          secret: "s3cret",
          longPromptsPath: `${FOLDER}/own/long-prompts`,
        },
        socket: `${FOLDER}/own/rv.sock`,
        auth: "s3cret",
      },
    },
    "it stays as it is only there": {
      facts: { gated: { expands: false, verbatim: true } },
      is: {
        inject: "rendezvous",
        stdin: undefined,
        file: undefined,
        rendezvous: {
          path: `${FOLDER}/own/rv.sock`,
          secret: "s3cret",
          longPromptsPath: `${FOLDER}/own/long-prompts`,
        },
        socket: `${FOLDER}/own/rv.sock`,
        auth: "s3cret",
      },
    },
  },
});

const own = { id: FRESH, argument: FRESH, resumed: [], copied: undefined, isNew: false };
const goesOn = {
  id: EARLIER,
  argument: undefined,
  resumed: [EARLIER],
  copied: EARLIER,
  isNew: false,
};
const fork = { ...goesOn, id: FRESH, argument: FRESH };

rule(
  "what a headless Claude Code goes on with until the child's own session is there, it resumes as the child does",
  {
    see: ({ twin }) => twin?.resumed,
    rows: {
      "a new session": { order: { prompt: undefined }, is: undefined },
      "a resumed one": { order: { prompt: undefined, resume: EARLIER }, is: EARLIER },
      "a fork": { order: { prompt: undefined, resume: EARLIER, forkSession: true }, is: EARLIER },
    },
  },
);

rule("a session is the run's own, named, resumed, or a fork", {
  see: sessionOf,
  rows: {
    "its own": { is: own },
    // The caller's flags name it to the child.
    named: {
      order: { sessionId: NAMED, forwarded: [`--session-id=${NAMED}`] },
      is: { ...own, id: NAMED, argument: NAMED, isNew: true },
    },
    resumed: { order: { resume: EARLIER }, is: goesOn },
    "resumed again, after its child has died": {
      order: { resume: EARLIER, resumption: { latest: true }, forwarded: [`--resume=${EARLIER}`] },
      facts: { found: { latest: NAMED } },
      is: goesOn,
    },
    "a fork": { order: { resume: EARLIER, forkSession: true }, is: fork },
    "a fork that is named": {
      order: { resume: EARLIER, forkSession: true, sessionId: NAMED },
      is: { ...goesOn, id: NAMED, isNew: true },
    },
    "the latest": {
      order: { resumption: { latest: true } },
      facts: { found: { latest: EARLIER } },
      is: goesOn,
    },
    "a fork of the latest": {
      order: { resumption: { latest: true }, forkSession: true },
      facts: { found: { latest: EARLIER } },
      is: fork,
    },
    "the latest, whatever else is named": {
      order: { resumption: { latest: true, named: NAMED, upTo: "m" } },
      facts: { found: { latest: EARLIER } },
      is: goesOn,
    },
    "no latest": { order: { resumption: { latest: true } }, is: own },
    "no latest, but a named one": {
      order: { resumption: { latest: true, named: EARLIER } },
      facts: { found: { named: [EARLIER] } },
      is: goesOn,
    },
    "no latest to fork, and an id": {
      order: { resumption: { latest: true }, forkSession: true, sessionId: NAMED },
      is: { ...own, id: NAMED, argument: undefined, isNew: true },
    },
    "one with a title": {
      order: { resumption: { latest: false, named: "Title" } },
      facts: { found: { named: [EARLIER] } },
      is: goesOn,
    },
  },
});

/** A prompt and its answer, and a second prompt. */
const SPOKEN = [
  { type: "user", uuid: "p1", parentUuid: null, message: { content: "one" } },
  { type: "assistant", uuid: "a1", parentUuid: "p1", message: { id: "m1", content: [] } },
  { type: "user", uuid: NAMED, parentUuid: "a1", message: { content: "two" } },
].map((line) => `${JSON.stringify(line)}\n`);

const TRANSCRIPT = { path: `-w/${EARLIER}.jsonl`, text: SPOKEN.join("") };

const upTo = (message: string, more: { readonly dropsTurn?: string } = {}) => ({
  order: { resumption: { latest: false, named: EARLIER, upTo: message, ...more } },
  facts: { found: { named: [EARLIER], transcript: TRANSCRIPT } },
});

rule("a session that is nowhere at home begins with the transcript that is given", {
  see: (planned) => [sessionOf(planned), planned.contents.begun],
  rows: {
    "at home": { order: { resume: EARLIER }, is: [goesOn, undefined] },
    "given": {
      order: { resume: EARLIER, history: TRANSCRIPT.text },
      facts: { found: { named: [EARLIER], transcript: TRANSCRIPT } },
      is: [goesOn, TRANSCRIPT],
    },
  },
});

rule("a transcript is shortened to the message up to which it is resumed", {
  see: (planned) => [sessionOf(planned), planned.contents.shortened?.text],
  rows: {
    "all of it": { order: { resume: EARLIER }, is: [goesOn, undefined] },
    "a part": { ...upTo("a1"), is: [goesOn, SPOKEN.slice(0, 2).join("")] },
    "all but a turn": {
      ...upTo("a1", { dropsTurn: NAMED }),
      is: [goesOn, SPOKEN.slice(0, 2).join("")],
    },
    "all of it, after its child has died": {
      ...upTo("a1"),
      order: { ...upTo("a1").order, resume: EARLIER },
      is: [goesOn, undefined],
    },
    "not the latest": {
      order: { resumption: { latest: true, named: NAMED, upTo: "a1" } },
      facts: { found: { latest: EARLIER } },
      is: [goesOn, undefined],
    },
    // The sandbox tells that there is none.
    "no transcript": {
      ...upTo("a1"),
      facts: { found: { named: [EARLIER] } },
      is: [goesOn, undefined],
    },
  },
});

Deno.test("plan(): a session that is not there, or not in parts, is refused", () => {
  const titled = (named: readonly string[]) => ({
    order: { resumption: { latest: false, named: "Title" } },
    facts: { found: { named } },
  });
  const refusals: readonly (readonly [Omit<Row, "is">, string])[] = [
    [
      titled([]),
      'Error: --resume requires a valid session ID or session title when used with --print. Usage: claude -p --resume <session-id|title>. Provided value "Title" is not a UUID and does not match any session title.',
    ],
    [
      titled([EARLIER, NAMED]),
      'Cannot resume a session: 2 sessions have the title "Title"',
    ],
    [upTo("x"), "No message found with message.uuid of: x"],
    [
      upTo("p1"),
      'Cannot honour --resume-session-at: the message "p1" is not the end of an answer, and the interactive Claude Code adds to what ends elsewhere',
    ],
    [
      upTo("a1", { dropsTurn: FRESH }),
      `Resume rejected by --resume-drops-turn: more than the turn "${FRESH}" would be left out: the first of it is the user line ${NAMED}`,
    ],
  ];
  for (const [row, message] of refusals) {
    assertEquals(assertThrows(() => planOf(row), CliError).message, message);
  }
});

const none = { argument: undefined, level: undefined, retries: undefined, mcp: undefined };
const ours = `${FOLDER}/own/debug.log`;
const users = `/u/.claude/debug/${FRESH}.txt`;

rule("a debug log is there for whoever reads it, and says no more than is read", {
  see: logOf,
  rows: {
    "nobody does": { is: none },
    "retries are told": {
      order: { retries: true },
      is: { ...none, argument: ours, level: "warn", retries: ours },
    },
    "MCP servers are waited for": {
      facts: { mcpServers: [SERVER, { ...SERVER, name: "t" }] },
      is: { ...none, argument: ours, level: "debug", mcp: ours },
    },
    "the caller does": { order: { debug: true }, is: { ...none, argument: users } },
    "the caller does, in a resumed session": {
      order: { debug: true, resume: EARLIER },
      is: { ...none, argument: `/u/.claude/debug/${EARLIER}.txt` },
    },
    "the caller does, and retries are told": {
      order: { debug: true, retries: true },
      is: { ...none, argument: users, retries: users },
    },
    // The caller's flags name it to the child.
    "the caller names a file": { order: { debugFile: "d.log" }, is: none },
    "the caller names a file, and all is told": {
      order: { debugFile: "d.log", retries: true },
      facts: { mcpServers: [SERVER] },
      is: { ...none, level: "debug", retries: "/w/inner/d.log", mcp: "/w/inner/d.log" },
    },
    "the caller names a file from the root": {
      order: { debugFile: "/d.log", retries: true },
      is: { ...none, retries: "/d.log" },
    },
    "the caller has a level": {
      order: { env: { CLAUDE_CODE_DEBUG_LOG_LEVEL: "error" }, debugFile: "/d.log" },
      is: { ...none, level: "error" },
    },
  },
});

rule("the first request waits for MCP servers where there are some", {
  see: (planned) => [
    planned.conversation.session.mcpServers,
    settingsOf(planned).hooks["SessionStart"]?.[0].hooks[0].command.startsWith("set -- asks "),
  ],
  rows: {
    "there are none": { is: [undefined, undefined] },
    "there are none, and frames are wanted": { order: { frames: true }, is: [undefined, false] },
    "it is switched off": {
      facts: { mcpServers: [{ ...SERVER, disabled: true }] },
      is: [undefined, undefined],
    },
    "there are two": {
      facts: { mcpServers: [SERVER, { ...SERVER, name: "t" }] },
      is: [2, true],
    },
    "a session is gone on with": {
      order: { resume: "s" },
      facts: { mcpServers: [SERVER] },
      is: [1, true],
    },
  },
});

const waiting = (value: string): Partial<RunOrder> => ({
  env: { CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS: value },
});

rule("background tasks are waited for as long as claude -p would", {
  see: ({ conversation }) => conversation.session.backgroundCeilingMs,
  rows: {
    "the usual time": { is: undefined },
    "a time of the caller's": { order: waiting("1500"), is: 1500 },
    "no limit": { order: waiting("0"), is: 0 },
    "no time": { order: waiting("-1"), is: undefined },
    "no whole time": { order: waiting("1.5"), is: undefined },
    "nothing": { order: waiting(""), is: undefined },
  },
});

const scheduling = (value: string) => ({ env: { CLAUDE_CODE_DISABLE_CRON: value } });

rule("the model is woken unless the caller or the project's own prompts forbid that", {
  see: ({ conversation: { session, report } }) => [session.wakeless, report.keptAsleep],
  rows: {
    "as usual": { is: [undefined, undefined] },
    "the caller wants none of it": { order: scheduling("1"), is: [true, undefined] },
    "the caller says that it does": { order: scheduling("0"), is: [undefined, undefined] },
    "the project has prompts of its own": {
      facts: { scheduledTasks: true },
      is: [true, true],
    },
    "both": {
      order: scheduling("1"),
      facts: { scheduledTasks: true },
      is: [true, undefined],
    },
  },
});

rule("a hook before calls asks where a caller may choose a stricter mode", {
  see: (planned) => [
    settingsOf(planned).hooks.PreToolUse?.map(({ matcher }: JsonObject) => matcher),
    planned.conversation.session.loose,
    planned.conversation.frames.callHooks,
  ],
  rows: {
    "no mode is stricter": {
      order: { prompt: undefined, asksCaller: true },
      is: [undefined, undefined, undefined],
    },
    "nobody is asked": {
      order: { prompt: undefined, permissionMode: "acceptEdits" },
      is: [undefined, undefined, undefined],
    },
    "edits are accepted": {
      order: { prompt: undefined, asksCaller: true, permissionMode: "acceptEdits" },
      is: [[undefined], true, true],
    },
  },
});

const hooking = (event: string) => ({ hooks: { [event]: [] } });

rule("Stop is the end at once only where no other hook may make the turn go on", {
  see: ({ conversation }) => conversation.session.otherStopHooks,
  rows: {
    "nobody has one": { is: false },
    "the user's are not read": { facts: { settings: [from("user", hooking("Stop"))] }, is: false },
    "the user's plugins are": {
      facts: { settings: [from("user", { enabledPlugins: { p: true } })] },
      is: true,
    },
    "the project has one": { facts: { settings: [from("project", hooking("Stop"))] }, is: true },
    "the project has another": {
      facts: { settings: [from("project", hooking("PreToolUse"))] },
      is: false,
    },
    "the caller has one": { facts: { settings: [from("flags", hooking("Stop"))] }, is: true },
    "an agent may have one": { order: { forwarded: ["--agent=a"] }, is: true },
    "agents may have one": { order: { forwarded: ["--agents={}"] }, is: true },
    "a plugin may have one": { order: { forwarded: ["--plugin-dir=p"] }, is: true },
  },
});

rule("subagents are told to begin behind their calls only where no hook runs before calls", {
  see: ({ conversation }) => conversation.frames.callHooks,
  rows: {
    "nobody has one": { is: undefined },
    "the user's are not read": {
      facts: { settings: [from("user", hooking("PreToolUse"))] },
      is: undefined,
    },
    "the user's are read": {
      order: { inheritHooks: true },
      facts: { settings: [from("user", hooking("PreToolUse"))] },
      is: true,
    },
    "plugins, few of which have one": {
      facts: { settings: [from("user", { enabledPlugins: { p: true } })] },
      is: undefined,
    },
    "the project has one": {
      facts: { settings: [from("project", hooking("PreToolUse"))] },
      is: true,
    },
    "the project has another": {
      facts: { settings: [from("project", hooking("Stop"))] },
      is: undefined,
    },
    "the budget has one of ours": { order: { maxBudgetUsd: 1 }, is: true },
  },
});

rule("limits are the order's, of which the session has what is left", {
  see: ({ conversation: { session, report } }) => [
    [session.timeoutMs, session.startTimeoutMs, session.deliveryTimeoutMs],
    [session.drainTimeoutMs, session.exitTimeoutMs, session.idleTimeoutMs, session.maxTurns],
    [report.limits.timeoutMs, report.limits.idleTimeoutMs, report.maxTurns],
  ],
  rows: {
    "those that always are": {
      is: [[59_000, 1000, 2000], [3000, 4000, undefined, undefined], [
        60_000,
        undefined,
        undefined,
      ]],
    },
    "all there are": {
      order: { idleTimeoutMs: 5000, maxTurns: 3 },
      is: [[59_000, 1000, 2000], [3000, 4000, 5000, 3], [60_000, 5000, 3]],
    },
  },
});

const TURNS = "CLAUDE_CODE_MAX_TURNS";

rule("turns are limited by a variable too, where no flag does so", {
  see: ({ conversation: { session, report } }) => [session.maxTurns, report.maxTurns],
  rows: {
    "one of the caller's": { order: { env: { [TURNS]: "2" } }, is: [2, 2] },
    "one of settings, which come before": {
      order: { env: { [TURNS]: "2" } },
      facts: { settings: [from("user", { env: { [TURNS]: "4" } })] },
      is: [4, 4],
    },
    "a flag beside it": { order: { env: { [TURNS]: "2" }, maxTurns: 3 }, is: [3, 3] },
    // Claude Code itself says what is wrong with it.
    "no number": { order: { env: { [TURNS]: "2.5" } }, is: [undefined, undefined] },
  },
});

rule("that the most a model may answer is the user's own is told", {
  see: ({ conversation: { frames } }) => frames.limitsOutput,
  rows: {
    "it is not": { is: undefined },
    "a variable says it": {
      order: { env: { CLAUDE_CODE_MAX_OUTPUT_TOKENS: "5000" } },
      is: true,
    },
    "settings say it": {
      facts: { settings: [from("user", { env: { CLAUDE_CODE_MAX_OUTPUT_TOKENS: "5000" } })] },
      is: true,
    },
  },
});

const remembering = (path: unknown) => ({ autoMemoryDirectory: path });

rule("memory stays where it is", {
  see: (planned) => [
    planned.conversation.frames.memoryPath,
    settingsOf(planned).autoMemoryDirectory,
  ],
  rows: {
    "that of the repository": {
      is: ["/u/.claude/projects/-w/memory/", "/u/.claude/projects/-w/memory/"],
    },
    "where the user wants it": {
      facts: { settings: [from("user", remembering("/m/"))] },
      is: ["/m/", "/m/"],
    },
    "where the caller wants it": {
      facts: { callerSettings: remembering("/c/"), settings: [from("user", remembering("/m/"))] },
      is: ["/c/", "/c/"],
    },
    "a project has no say": {
      facts: { settings: [from("project", remembering("/p/"))] },
      is: ["/u/.claude/projects/-w/memory/", "/u/.claude/projects/-w/memory/"],
    },
    "the user names no path": {
      facts: { settings: [from("user", remembering(1))] },
      is: ["/u/.claude/projects/-w/memory/", "/u/.claude/projects/-w/memory/"],
    },
  },
});

rule("frames say whose key it is, failures which variable", {
  see: ({ conversation: { frames, report } }) => [frames.apiKeySource, report.credential],
  rows: {
    "a login": {
      facts: {
        login: {
          kind: "stored",
          subscription: "max",
          expiresAt: undefined,
          refreshable: true,
          refreshableUntil: undefined,
        },
      },
      is: ["none", undefined],
    },
    "a variable": {
      order: { env: { ANTHROPIC_API_KEY: "k" } },
      facts: { login: { kind: "variable", name: "ANTHROPIC_API_KEY" } },
      is: ["ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY"],
    },
    "a key on a descriptor": {
      facts: { login: { kind: "variable", name: "CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR" } },
      is: ["ANTHROPIC_API_KEY", "CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR"],
    },
    "a helper": {
      facts: { settings: [from("user", { apiKeyHelper: "/bin/key" })] },
      is: ["apiKeyHelper", undefined],
    },
  },
});

rule("a child finds credentials on descriptors of its own", {
  see: ({ env, twin, credentials }) => ({
    child: [env["CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR"], credentials.length],
    twin: twin?.env["CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR"],
  }),
  rows: {
    "the caller has passed one on 7": {
      order: { prompt: undefined, env: { CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR: "7" } },
      facts: {
        credentials: [{
          variable: "CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR",
          fd: 7,
          secret: "s",
        }],
      },
      // A headless helper inherits the descriptors of this program.
      is: { child: ["3", 1], twin: "7" },
    },
  },
});

rule("frames name the output style of the last settings that have one", {
  see: ({ conversation: { frames } }) => frames.outputStyle,
  rows: {
    "nobody": { is: undefined },
    "the user": { facts: { settings: [from("user", { outputStyle: "Mine" })] }, is: "Mine" },
    "the project too": {
      facts: {
        settings: [from("user", { outputStyle: "Mine" }), from("local", { outputStyle: "Ours" })],
      },
      is: "Ours",
    },
    "what is no name": {
      facts: {
        settings: [from("user", { outputStyle: "Mine" }), from("flags", { outputStyle: 7 })],
      },
      is: "Mine",
    },
  },
});

rule("the environment is the caller's, moved into the private folder", {
  see: ({ env }) => [
    env["PATH"],
    env["CLAUDE_CONFIG_DIR"],
    env["CLAUDE_CODE_TMPDIR"],
    env["CLAUDE_SECURESTORAGE_CONFIG_DIR"],
    env["CLAUDE_CODE_DISABLE_CRON"],
    env["CLAUDECODE"],
  ],
  rows: {
    "as usual": {
      is: ["/bin", `${FOLDER}/.claude`, `${FOLDER}/tmp`, "/u/.claude", undefined, undefined],
    },
    "the project has prompts of its own": {
      facts: { scheduledTasks: true },
      is: ["/bin", `${FOLDER}/.claude`, `${FOLDER}/tmp`, "/u/.claude", "1", undefined],
    },
    "within Claude Code": {
      order: { env: { PATH: "/bin", CLAUDECODE: "1" } },
      is: ["/bin", `${FOLDER}/.claude`, `${FOLDER}/tmp`, "/u/.claude", undefined, undefined],
    },
  },
});

rule("the caller's settings go on, less what draws on a screen", {
  see: (planned) => {
    const { model, statusLine, hooks } = settingsOf(planned);
    return [model, statusLine?.command, hooks.Stop.length];
  },
  rows: {
    "there are none": { is: [undefined, "", 1] },
    "model, hooks and status line": {
      facts: {
        callerSettings: { model: "opus", statusLine: { command: "s" }, hooks: { Stop: [{}] } },
      },
      is: ["opus", "", 2],
    },
    "a project's status line": {
      facts: { settings: [from("project", { statusLine: { command: "s" } })] },
      is: [undefined, "", 1],
    },
    "the user's is not handed on in the first place": {
      facts: { settings: [from("user", { statusLine: { command: "s" } })] },
      is: [undefined, "", 1],
    },
  },
});

rule("the user's own files are handed on as far as they are the child's", {
  see: (planned) => [
    fileOf(planned, ".claude/settings.json"),
    JSON.parse(fileOf(planned, ".claude/.claude.json") ?? "").userID,
    JSON.parse(fileOf(planned, ".claude/.claude.json") ?? "").customApiKeyResponses?.approved,
    Object.keys(JSON.parse(fileOf(planned, ".claude/.claude.json") ?? "").projects),
    planned.contents.userConfigDir,
  ],
  rows: {
    "there are none": { is: [undefined, undefined, undefined, ["/w/inner", "/w"], "/u/.claude"] },
    "settings, a user and a key": {
      order: { env: { ANTHROPIC_API_KEY: "key" } },
      facts: {
        settings: [from("user", { model: "opus", hooks: {} })],
        userClaudeJson: { userID: "me" },
        folders: ["/w", "/w", "/added"],
      },
      is: ['{"model":"opus"}', "me", ["key"], ["/w", "/added"], "/u/.claude"],
    },
  },
});

rule(
  "folders of runs are hidden from the Bash sandbox, and closed where tools may write to them, but for what the run works in",
  {
    see: (planned) => [
      planned.contents.footholds,
      settingsOf(planned).permissions.deny.length / 2,
      settingsOf(planned).sandbox.filesystem.denyRead,
    ],
    rows: {
      "tools write elsewhere": {
        is: [[], 1, ["/tmp/claude-print-1", "/var/tmp/claude-print-1"]],
      },
      "what is missing can be hidden only once it is there": {
        facts: { sandboxLack: [] },
        is: [["/var/tmp/claude-print-1"], 1, ["/tmp/claude-print-1", "/var/tmp/claude-print-1"]],
      },
      "tools write everywhere": {
        facts: { writable: ["/"] },
        is: [
          ["/var/tmp/claude-print-1"],
          2,
          ["/tmp/claude-print-1", "/var/tmp/claude-print-1"],
        ],
      },
      "what is hidden is opened by its name": {
        facts: { writable: ["/w", "/tmp/claude-print-1"] },
        is: [[], 2, ["/tmp/claude-print-1", "/var/tmp/claude-print-1"]],
      },
      "the run is in the temp folder of another one": {
        facts: {
          writable: ["/"],
          folders: ["/var/tmp/claude-print-1/5-6-00000000/tmp"],
        },
        is: [[], 1, ["/tmp/claude-print-1"]],
      },
    },
  },
);

rule("the machines are told whose run it is", {
  see: ({ conversation: { frames, report, session }, message }) => [
    [frames.sessionId, frames.cwd, frames.seed, frames.startedAt, frames.servedByAnthropic],
    [message?.text, message?.command, message?.altered, report.record, report.binary],
    [session.conversation, session.size],
  ],
  rows: {
    "a prompt": {
      is: [
        [FRESH, "/w/inner", FACTS.seed, FACTS.now, true],
        ["hello there", undefined, undefined, undefined, "/bin/claude"],
        [undefined, { rows: 50, cols: 220 }],
      ],
    },
    "a command, recorded, with a proxy between": {
      order: {
        prompt: "/mine a b",
        env: { ANTHROPIC_BASE_URL: "http://localhost" },
        altered: "a tab",
        record: "/r",
      },
      facts: { gated: { expands: true } },
      is: [
        [FRESH, "/w/inner", FACTS.seed, FACTS.now, false],
        ["/mine a b", "/mine", "a tab", "/r", "/bin/claude"],
        [undefined, { rows: 50, cols: 220 }],
      ],
    },
  },
});

const BOTH = { "diff@builtin": false, "agents-md@builtin": false };
const DIFF_ALONE = { "diff@builtin": false };
const WITH_CLAUDE = { claude: true, agents: false, skills: false };

rule("plugins of Claude Code's own that have nothing to do are left out", {
  see: (planned) => settingsOf(planned).enabledPlugins,
  rows: {
    "no file of instructions, and no tool that may write": { is: BOTH },
    "a mode in which tools may write": {
      order: { permissionMode: "acceptEdits" },
      is: DIFF_ALONE,
    },
    "the same beside a CLAUDE.md": {
      order: { permissionMode: "acceptEdits", forwarded: ["--allowedTools=Bash"] },
      facts: { instructions: WITH_CLAUDE },
      is: BOTH,
    },
    "an AGENTS.md": {
      facts: { instructions: { claude: true, agents: true, skills: false } },
      is: DIFF_ALONE,
    },
    "skills, which may allow tools": {
      facts: { instructions: { claude: false, agents: false, skills: true } },
      is: DIFF_ALONE,
    },
    "a flag that allows a tool": { order: { forwarded: ["--allowedTools=Bash"] }, is: DIFF_ALONE },
    "settings that allow a tool": {
      facts: { settings: [from("user", { permissions: { allow: ["Bash"] } })] },
      is: DIFF_ALONE,
    },
    "hooks of a project": {
      facts: { settings: [from("project", { hooks: { Stop: [] } })] },
      is: DIFF_ALONE,
    },
    "another folder to work in": {
      order: { forwarded: ["--worktree=w"] },
      facts: { instructions: WITH_CLAUDE },
      is: DIFF_ALONE,
    },
    "a CLAUDE.md that may be left out": {
      facts: {
        instructions: WITH_CLAUDE,
        settings: [from("user", { claudeMdExcludes: ["/w/CLAUDE.md"] })],
      },
      is: DIFF_ALONE,
    },
    "a user who has them on": {
      facts: {
        instructions: WITH_CLAUDE,
        settings: [
          from("user", {
            enabledPlugins: { "cc-plugin-diff@builtin": true, "agents-md@builtin": true },
          }),
        ],
      },
      is: undefined,
    },
    "a user who has one of them do something else": {
      facts: {
        instructions: WITH_CLAUDE,
        settings: [
          from("user", {
            pluginConfigs: {
              "agents-md@builtin": { options: { instructionFiles: "claude-md-and-agents-md" } },
            },
          }),
        ],
      },
      is: DIFF_ALONE,
    },
    "a caller with plugins": {
      facts: {
        callerSettings: { enabledPlugins: { "p@m": true, "diff@builtin": true } },
        instructions: WITH_CLAUDE,
        settings: [from("flags", { enabledPlugins: { "p@m": true, "diff@builtin": true } })],
      },
      is: { "p@m": true, "diff@builtin": true, "agents-md@builtin": false },
    },
  },
});

Deno.test("a child that is to read no files for mentions is told so, and its session knows", () => {
  const { env, conversation } = planOf({ order: { readsNoMentions: true } });
  assertEquals(env["CLAUDE_CODE_DISABLE_ATTACHMENTS"], "1");
  assertEquals(conversation.session.readsNoMentions, true);
  assertEquals("CLAUDE_CODE_DISABLE_ATTACHMENTS" in planOf().env, false);
});

Deno.test("a child whose prompt a subagent carries out waits for that, as by claude -p", () => {
  const variable = "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS";
  assertEquals(planOf({ facts: { gated: { expands: true, forks: true } } }).env[variable], "1");
  assertEquals(variable in planOf({ facts: { gated: { expands: true } } }).env, false);
});

Deno.test("what a session is at is told to an Agent SDK, and to its user who asks for it", () => {
  const activity = (env: RunOrder["env"], prompt?: string) =>
    planOf({ order: { prompt, env: { ...PLAIN_ORDER.env, ...env } } }).conversation.frames.activity;
  const sdk = { CLAUDE_CODE_SDK_READS_SESSION_STATE: "1" };
  const user = { CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS: "true" };
  assertEquals([{}, sdk, user, { ...sdk, ...user }].map((env) => activity(env)), [
    ...[undefined, true, "shown", "shown"],
  ]);
  assertEquals(activity(user, "one prompt alone"), undefined);
});

Deno.test("shells are watched where that is asked for and not switched off, and nothing else changes", () => {
  const outputOf = (order: Partial<RunOrder>) => planOf({ order }).conversation.frames.shellOutput;
  const off = { PATH: "/bin", CLAUDE_PRINT_SHELL_OUTPUT: "off" };
  assertEquals(outputOf({}), undefined);
  assertEquals(outputOf({ shellOutput: "joined" }), "joined");
  assertEquals(outputOf({ shellOutput: "joined", env: off }), undefined);
  const [plain, asked] = [planOf(), planOf({ order: { shellOutput: "joined" } })];
  assertEquals([asked.args, asked.env, asked.contents], [plain.args, plain.env, plain.contents]);
});

Deno.test("a shell of ours stands in the place of the user's where streams are told apart", () => {
  const splitOf = (env: RunOrder["env"]) => planOf({ order: { shellOutput: "split", env } });
  const plain = splitOf({ PATH: "/bin" });
  const path = `${FOLDER}/.claude/shell/bash`;
  assertEquals(plain.env["CLAUDE_CODE_SHELL"], path);
  const script = plain.contents.files.find((file) => file.path === path);
  assertEquals([script?.runs, script?.text.endsWith(`exec '/bin/bash' "$@"\n`)], [true, true]);
  assertEquals(script?.text.includes("unset CLAUDE_CODE_SHELL"), true);
  assertEquals(plain.conversation.frames.shellOutput, "split");
  const zsh = splitOf({ SHELL: "/usr/bin/zsh" });
  assertEquals(zsh.env["CLAUDE_CODE_SHELL"], `${FOLDER}/.claude/shell/zsh`);
  assertEquals(splitOf({ SHELL: "/bin/fish" }).env["CLAUDE_CODE_SHELL"], path);
  const named = splitOf({ SHELL: "/usr/bin/zsh", CLAUDE_CODE_SHELL: "/opt/bash" });
  assertEquals(named.env["CLAUDE_CODE_SHELL"], path);
  assertEquals(
    fileOf(named, ".claude/shell/bash")?.includes("export CLAUDE_CODE_SHELL='/opt/bash'"),
    true,
  );
  const off = splitOf({ CLAUDE_PRINT_SHELL_OUTPUT: "off" });
  assertEquals([off.env["CLAUDE_CODE_SHELL"], fileOf(off, ".claude/shell/bash")], [
    undefined,
    undefined,
  ]);
});

rule("what of the user's ends with a child is waited for", {
  see: ({ endsAlone }) => endsAlone,
  rows: {
    "nothing does": {
      facts: { settings: [from("project", { hooks: { Stop: [] } })] },
      is: true,
    },
    "a hook of its end": {
      facts: { settings: [from("project", { hooks: { SessionEnd: [] } })] },
      is: false,
    },
    "the user's, which is not read": {
      facts: { settings: [from("user", { hooks: { SessionEnd: [] } })] },
      is: true,
    },
    "and is where that is asked for": {
      order: { inheritHooks: true },
      facts: { settings: [from("user", { hooks: { SessionEnd: [] } })] },
      is: false,
    },
    "a plugin": { order: { forwarded: ["--plugin-dir=/p"] }, is: false },
    "an MCP server": { facts: { mcpServers: [SERVER] }, is: false },
  },
});
