import { hasOtherHooks, mayTighten } from "./conversation_options.ts";
import type { Decisions, RunSession } from "./decide.ts";
import type { PlacedTexts } from "./child_args.ts";
import type { HiddenSkills, PlanFacts } from "./plan_facts.ts";
import type { RunOrder } from "./run_order.ts";
import { withoutBypass } from "./child_settings.ts";
import { contestedVariables } from "../../sandbox/child/child_environment.ts";
import { childFiles } from "../../sandbox/child/child_files.ts";
import { withoutScreenCommands } from "../../sandbox/child/foreign_settings.ts";
import type { HookEvent } from "../../sandbox/child/hooks.ts";
import { type Settings, valuesOf } from "../../sandbox/child/read_settings.ts";
import { type Environment, isSwitchedOn } from "../../sandbox/environment.ts";
import type { FolderContents } from "../../sandbox/folder/folder_contents.ts";
import { folderParts } from "../../sandbox/folder/folder_parts.ts";
import { isBelow } from "../../sandbox/paths.ts";
import { hiddenRuns, reopenedRuns } from "../../sandbox/places/hidden_runs.ts";
import { exposedRuns } from "../../sandbox/places/writable_folders.ts";
import { SKILL_TOOL } from "../../conversation/protocol/chosen_skills.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";
import { isGoalTyped } from "../../claude/transcript/goal.ts";
import { OUTPUT_SERVER } from "../../claude/transcript/structured_output.ts";
import { inToolNames, toolPrefix } from "../../claude/transcript/tool_prefix.ts";
import { isCallers } from "../../claude/wire/control.ts";

/** Whether there may be more than one message: where a text alone is printed there is one. */
function isLongConversation({ prompt, answerAlone }: RunOrder): boolean {
  return prompt === undefined && answerAlone !== true;
}

/** What is put into the private folder. */
export function childContents(
  order: RunOrder,
  { facts, decided, variables, env, texts, asksCaller }: {
    readonly facts: PlanFacts;
    readonly decided: Decisions;
    readonly variables: Environment;
    readonly env: Environment;
    readonly texts: PlacedTexts["files"];
    readonly asksCaller: boolean;
  },
): FolderContents {
  const { folder, folders, writable, settings, secret, pid, userConfig } = facts;
  const { session, inject, isGated, memoryPath, mode, userSettings, agents, hidesUser } = decided;
  const onStdin = inject === "stdin" ? order.prompt : order.onStdin;
  const parts = folderParts(folder);
  const terms = serverTerms(order);
  const exposed = exposedRuns(facts.runs, { writable, inside: [folder, ...folders] });
  const hidden = hiddenRuns(facts.runs, { folders });
  // What is missing cannot be hidden, and would not be if another run made it later.
  const footholds = facts.sandboxLack === undefined
    ? exposed
    : [...new Set([...exposed, ...hidden])].filter((runs) => !isBelow(folder, runs));
  return {
    files: childFiles(parts, {
      secret,
      pid,
      hooks: hooksFor(order, decided),
      // A budget is for all tools, and so is a mode.
      ...(order.maxBudgetUsd === undefined && !mayTighten(order, decided)
        ? { matchers: { PreToolUse: SKILL_TOOL } }
        : {}),
      held: [
        ...(isGated ? ["SessionStart" as const] : []),
        // What has come meanwhile is a turn of its own, after the cost of this one is known; without the
        // structured answer that it owes, no turn is over; and at its limit it goes on for no other hook.
        ...(isLongConversation(order) || facts.output !== undefined ||
            (order.maxTurns !== undefined &&
              (hasOtherHooks(order, { facts, event: "Stop" }) || mayHaveGoal(order, session)))
          ? ["Stop" as const]
          : []),
      ],
      marksLong: inject === "rendezvous",
      callbacks: order.initialized?.callbacks ?? [],
      asksCaller,
      texts,
      servers: decided.servers,
      timeouts: terms.timeouts,
      ...(facts.promptServer === undefined ? {} : { relayed: facts.promptServer }),
      ...(order.switched === undefined ? {} : { switched: order.switched }),
      userClaudeJson: hidesUser ? withoutServers(facts.userClaudeJson) : facts.userClaudeJson,
      userSettings,
      agents: agents.files,
      sealsHooks: decided.sealsHooks,
      inheritsHooks: order.inheritHooks,
      callerSettings: withVariables(
        withoutScreenCommands(
          withoutBypass(
            askedSettings(facts.callerSettings, {
              hidden: facts.hiddenSkills,
              terms,
              settings: valuesOf(settings),
              omitsThinking: order.omitsThinking === true,
            }),
            { forwarded: order.forwarded, mode },
          ),
        ),
        {
          variables,
          settings: valuesOf(settings),
          // A flag that takes the hooks away has Claude Code set such a variable itself.
          contested: decided.hookless === undefined
            ? contestedVariables(env, valuesOf(settings))
            : {},
        },
      ),
      memoryPath,
      ...(session.resumed === undefined ? {} : {
        earlierOutputs: { userConfigDir: userConfig.dir, session: session.resumed },
      }),
      plugins: idlePlugins(order, { facts, mode }),
      folders,
      exposed,
      hidden,
      reopened: reopenedRuns(hidden, { writable }),
      apiKey: order.env["ANTHROPIC_API_KEY"],
      ...(onStdin === undefined ? {} : { stdin: onStdin }),
      asksCost: isLongConversation(order) || order.limitsTold === true ||
        order.maxBudgetUsd !== undefined,
      ...(decided.splitShell === undefined ? {} : { splitShell: decided.splitShell }),
    }),
    ...(inject === "stdin" || onStdin !== undefined ? { stdinPath: parts.promptPath } : {}),
    secret,
    bridges: decided.servers,
    ...(facts.promptServer === undefined ? {} : { relayed: facts.promptServer.name }),
    footholds,
    userConfigDir: userConfig.dir,
    hidesUser,
    ...(keepsBackups(order, settings) ? { keepsBackups: true as const } : {}),
    ...(session.resumed === undefined ? {} : { resume: session.resumed }),
    ...(facts.shortened === undefined ? {} : { shortened: facts.shortened }),
    ...(order.history === undefined || facts.found.transcript === undefined
      ? {}
      : { begun: facts.found.transcript }),
    isNewSession: session.isNew,
  };
}

/** The user's `.claude.json` without the MCP servers that are the user's in every project. */
function withoutServers({ mcpServers: _, ...rest }: JsonObject = {}): JsonObject {
  return rest;
}

/** The caller's settings with variables of ours, where settings name them too: these come before the environment. */
function withVariables(
  caller: JsonObject,
  { variables, settings, contested }: {
    readonly variables: Environment;
    readonly settings: readonly JsonObject[];
    /** Those of the child that are ours whoever names them. */
    readonly contested: Environment;
  },
): JsonObject {
  const isNamed = Object.keys(variables).some((name) =>
    settings.some(({ env }) => isJsonObject(env) && env[name] !== undefined)
  );
  const added = { ...(isNamed ? variables : {}), ...contested };
  if (Object.keys(added).length === 0) return caller;
  const { env } = caller;
  return { ...caller, env: { ...(isJsonObject(env) ? env : {}), ...added } };
}

/** The hooks a run needs; each that fires before the answer costs 10 to 20 ms. */
function hooksFor(order: RunOrder, decided: Decisions): readonly HookEvent[] {
  const { frames, altered, maxTurns, maxBudgetUsd, partialMessages, exactStream } = order;
  const { initialized } = order;
  const { inject, isGated, servers } = decided;
  const isLimited = maxTurns !== undefined || maxBudgetUsd !== undefined ||
    servers.includes(OUTPUT_SERVER);
  // An answer can be displayed before the transcript holds the calls before it: their batch says which those are.
  const isDisplayed = partialMessages && !exactStream;
  return [
    "Stop",
    "StopFailure",
    "SessionEnd",
    "PermissionRequest",
    "Elicitation",
    ...(frames ? ["PreCompact" as const, "PostCompact" as const] : []),
    ...(frames || isGated ? ["SessionStart" as const] : []),
    ...(inject !== "stdin" || altered !== undefined ? ["UserPromptSubmit" as const] : []),
    ...(isLimited || isDisplayed ? ["PostToolBatch" as const] : []),
    ...(maxBudgetUsd === undefined && initialized?.skills === undefined &&
        !mayTighten(order, decided)
      ? []
      : ["PreToolUse" as const]),
    ...(isDisplayed ? ["MessageDisplay" as const] : []),
  ];
}

/** Whether a run may pursue a goal: the prompt sets one, or the session that is resumed may have one. */
function mayHaveGoal({ prompt = "" }: RunOrder, { resumed }: RunSession): boolean {
  return resumed !== undefined || isGoalTyped(prompt);
}

/** With it `claude -p` keeps what files were before they were edited; the interactive Claude Code always does. */
const KEEPING = "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING";

/** Whether what files were before is kept with the session, and is there to be restored. */
function keepsBackups(
  { env, persistSession, rewindsTo }: Pick<RunOrder, "env" | "persistSession" | "rewindsTo">,
  settings: readonly Settings[],
): boolean {
  if (!persistSession && rewindsTo === undefined) return false;
  const all = valuesOf(settings).map((values) =>
    isJsonObject(values["env"]) ? values["env"][KEEPING] : undefined
  );
  const last = all.findLast((value) => typeof value === "string");
  return isSwitchedOn(typeof last === "string" ? last : env[KEEPING]);
}

/** What hides a skill from the model and leaves it to a person, and what does so and more. */
const HIDDEN = "user-invocable-only";
const OFF = "off";

/**
 * The caller's settings with what an initialization asks for and settings alone can bring about.
 *
 * Skills that have not been chosen are hidden by `skillOverrides`. Those of plugins it does not know, so a rule keeps
 * the model from loading what it is told of (2.1.330).
 *
 * @param options.settings all settings, later ones overriding earlier ones: what they take away from everybody stays away
 */
function askedSettings(
  caller: JsonObject,
  { hidden, terms: { deny, ask }, settings, omitsThinking }: {
    readonly hidden: HiddenSkills | undefined;
    readonly terms: ServerTerms;
    readonly settings: readonly JsonObject[];
    readonly omitsThinking: boolean;
  },
): JsonObject {
  const denied = [...deny, ...hidden?.ofPlugins.map((name) => `Skill(${name})`) ?? []];
  const permissions = objectIn(caller, "permissions");
  const added = (name: "deny" | "ask", rules: readonly string[]) => {
    const given = permissions[name];
    return rules.length === 0 ? {} : { [name]: [...(Array.isArray(given) ? given : []), ...rules] };
  };
  const rules = { ...added("deny", denied), ...added("ask", ask) };
  const inForce = new Map(
    settings.flatMap((each) => Object.entries(objectIn(each, "skillOverrides"))),
  );
  const overrides = hidden?.own.filter((name) => inForce.get(name) !== OFF)
    .map((name) => [name, HIDDEN]);
  return {
    ...caller,
    // Otherwise 2.1.330 has thoughts redacted at a terminal once the API has refused a request that omits them.
    ...(omitsThinking ? { showThinkingSummaries: true } : {}),
    ...(Object.keys(rules).length === 0 ? {} : { permissions: { ...permissions, ...rules } }),
    ...(overrides === undefined ? {} : {
      skillOverrides: { ...objectIn(caller, "skillOverrides"), ...Object.fromEntries(overrides) },
    }),
  };
}

function objectIn(settings: JsonObject, name: string): JsonObject {
  const value = settings[name];
  return isJsonObject(value) ? value : {};
}

/** On what terms the MCP servers in the caller's own process are used. */
interface ServerTerms {
  /** How long a call of a tool may take, in milliseconds, by the name of the server. */
  readonly timeouts: Readonly<Record<string, number>>;
  /** Rules for tools that are never to be called, and for those about which the caller is asked each time. */
  readonly deny: readonly string[];
  readonly ask: readonly string[];
}

/**
 * The terms that a caller has named with its servers, those that it has set last or begun with. What is allowed is not
 * said by them, as in `claude -p`, and who is of two minds is asked (2.1.330).
 */
function serverTerms({ initialized, setServers }: RunOrder): ServerTerms {
  const configs = Object.entries(setServers ?? initialized?.serverConfigs ?? {})
    .flatMap(([name, config]): (readonly [string, JsonObject])[] =>
      isJsonObject(config) && (setServers === undefined || isCallers(config))
        ? [[name, config]]
        : []
    );
  const policies = configs.flatMap(([server, { tools }]) =>
    (Array.isArray(tools) ? tools.filter(isJsonObject) : []).flatMap((
      { name, permission_policy: policy },
    ) =>
      typeof name === "string" && policy !== undefined && policy !== "always_allow"
        ? [{ rule: `${toolPrefix(server)}${inToolNames(name)}`, policy }]
        : []
    )
  );
  const rules = (isDenied: boolean) =>
    policies.filter(({ policy }) => (policy === "always_deny") === isDenied)
      .map(({ rule }) => rule);
  return {
    timeouts: Object.fromEntries(
      configs.flatMap(([name, { timeout }]) =>
        // At any other Claude Code leaves the server out.
        Number.isSafeInteger(timeout) && Number(timeout) > 0 ? [[name, Number(timeout)]] : []
      ),
    ),
    deny: rules(true),
    ask: rules(false),
  };
}

/** Draws changed files beside the conversation, on a screen that nobody looks at: `claude -p` has it not. */
const DIFF = "diff";
/** Tells the model what an AGENTS.md says where a project has no CLAUDE.md. */
const AGENTS = "agents-md";

/** Modes in which tools write nothing that no rule allows. */
const READING_MODES: readonly string[] = ["default", "dontAsk", "plan"];

/**
 * The `enabledPlugins` setting that leaves out those of Claude Code's own plugins that have nothing to do in a run:
 * each takes 20 to 90 ms of its start (2.1.330).
 *
 * AGENTS.md is read at the start, above the working directory, and whenever a file beside or below one is read. So its
 * plugin is left out where there is none, and none can come: a CLAUDE.md keeps those below it from being read, and
 * without one no tool may write any. Whatever settings say of a plugin holds.
 */
function idlePlugins(
  order: Pick<RunOrder, "forwarded" | "initialized">,
  { facts: { settings, instructions }, mode }: {
    readonly facts: Pick<PlanFacts, "settings" | "instructions">;
    readonly mode: string;
  },
): JsonObject {
  const values = valuesOf(settings);
  const isNamed = (plugin: string) =>
    values.some(({ enabledPlugins, pluginConfigs }) =>
      [enabledPlugins, pluginConfigs].some((each) =>
        isJsonObject(each) && Object.keys(each).some((name) => name.startsWith(plugin))
      )
    );
  const mayCome = !instructions.claude &&
    (instructions.skills || mayWrite(order, { values, mode }));
  const isMoved = order.forwarded.some((argument) => /^(?:--worktree|-w)(?:=|$)/u.test(argument)) ||
    values.some(({ claudeMdExcludes }) => claudeMdExcludes !== undefined);
  const agentsIsIdle = !instructions.agents && !mayCome && !isMoved;
  const idle = [DIFF, ...agentsIsIdle ? [AGENTS] : []].filter((name) =>
    // Each has two names.
    !isNamed(`${name}@`) && !isNamed(`cc-plugin-${name}@`)
  );
  return Object.fromEntries(idle.map((name) => [`${name}@builtin`, false]));
}

/** Whether a tool of the run may write a file. */
function mayWrite(
  { forwarded, initialized }: Pick<RunOrder, "forwarded" | "initialized">,
  { values, mode }: { readonly values: readonly JsonObject[]; readonly mode: string },
): boolean {
  return !READING_MODES.includes(mode) || initialized?.longAgents !== undefined ||
    forwarded.some((argument) => /^--(?:allowed-?tools|plugin-|agents?)/iu.test(argument)) ||
    values.some(({ permissions, sandbox, hooks, enabledPlugins }) =>
      (isJsonObject(permissions) && permissions["allow"] !== undefined) ||
      [sandbox, hooks, enabledPlugins].some((each) => each !== undefined)
    );
}
