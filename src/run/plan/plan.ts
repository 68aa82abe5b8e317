import type { TwinPlan } from "../../driver/effects/twin_plan.ts";
import type { RendezvousOptions } from "../../driver/effects/rendezvous.ts";
import type { ConversationOptions } from "../../conversation/output/conversation.ts";
import { childContents } from "./child_contents.ts";
import { conversationOf, endsAlone } from "./conversation_options.ts";
import { decide, type Decisions } from "./decide.ts";
import { type PlacedTexts, placedTexts } from "./child_args.ts";
import { namedVariable, sameRequests } from "./api_variables.ts";
import type { PlanFacts } from "./plan_facts.ts";
import type { RunOrder } from "./run_order.ts";
import { childEnvironment } from "../../sandbox/child/child_environment.ts";
import {
  descriptorVariables,
  type PassedCredential,
} from "../../sandbox/child/passed_credentials.ts";
import { silencesHooks } from "../../sandbox/child/foreign_settings.ts";
import { valuesOf } from "../../sandbox/child/read_settings.ts";
import type { Environment } from "../../sandbox/environment.ts";
import type { FolderContents } from "../../sandbox/folder/folder_contents.ts";
import { type FolderParts, folderParts } from "../../sandbox/folder/folder_parts.ts";
import type { Prompt } from "../../conversation/control/message.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";
import { slashWord } from "../../conversation/control/prompt/slash_word.ts";
import { jsonObjectIn } from "../../claude/wire/json_object_in.ts";
import type { Login } from "../../sandbox/child/login.ts";

/** Everything that a child is started with, and all that the machines are told. */
export interface Plan {
  readonly sessionId: string;
  /** The mode in which the child begins, which is always named. */
  readonly permissionMode: string;
  readonly args: readonly string[];
  readonly env: Environment;
  /** Credentials that the child finds on descriptors, which `env` names. */
  readonly credentials: readonly PassedCredential[];
  /** What is put into the private folder. */
  readonly contents: FolderContents;
  /** The child's rendezvous socket, when the prompt goes in there. */
  readonly rendezvous: RendezvousOptions | undefined;
  /** A headless Claude Code that is asked about the session, where there is a caller who may want to know. */
  readonly twin: TwinPlan | undefined;
  /** The debug log that tells of retries, when somebody wants to hear of them. */
  readonly retryLog: string | undefined;
  /** The debug log, when somebody wants to be told all of it. */
  readonly toldLog: string | undefined;
  /** The debug log that tells of connections to MCP servers, when the first request waits for some. */
  readonly mcpLog: string | undefined;
  /** What the machines are told, but for the time of the start. */
  readonly conversation: ConversationOptions;
  /** Whether nothing of the user's or the caller's ends with the child. */
  readonly endsAlone: boolean;
  /** The run's only message; absent where messages come as the run goes on. */
  readonly message: Prompt | undefined;
  /** What the user is to be told of flags, rules and settings that have no effect. */
  readonly warnings: readonly string[];
}

/**
 * Decides all that a run is started with. Nothing is read or made here: no clock, no file, no environment but the
 * caller's in the order, no random number.
 *
 * @throws {CliError} when there is no session, or no part of it, that can be gone on with as it was asked for
 */
export function plan(asked: RunOrder, facts: PlanFacts): Plan {
  const read = valuesOf(facts.settings);
  const order = {
    ...boundedOrder(asked, read),
    ...(silencesHooks(read) ? { inheritHooks: false } : {}),
  };
  const decided = decide(order, facts);
  const { session, mode, isGated, log, rendezvous } = decided;
  const parts = folderParts(facts.folder);
  const { configDir, tempDir } = parts;
  const { variables: added, betas, warnings } = requestVariables(order, {
    login: facts.login,
    settings: valuesOf(facts.settings),
  });
  const variables = {
    ...added,
    ...sameRequests(order),
    // At a terminal 2.1.330 asks for short thoughts even beside the flag.
    ...(order.omitsThinking ? { CLAUDE_CODE_THINKING_DISPLAY_UPDATES: "0" } : {}),
    // It also tells the model of no skills and no tools whose definitions it could ask for.
    ...(order.readsNoMentions ? { CLAUDE_CODE_DISABLE_ATTACHMENTS: "1" } : {}),
    // The subagent and the shells that it starts are waited for then, too.
    ...(facts.gated.forks ? { CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: "1" } : {}),
    ...facts.relayVariables,
  };
  const texts = placedTexts(order, parts);
  const asksCaller = order.asksCaller === true || order.promptTool !== undefined;
  const args = childArgs(order, { ...decided, parts, texts });
  const sealing = decided.sealsHooks ? sealingArgs(order, parts) : [];
  const { userConfig, scheduledTasks } = facts;
  const environment = { configDir, tempDir, userConfig, scheduledTasks };
  const caller = { ...order.env, ...variables };
  const { credentials } = facts;
  const env = childEnvironment({ ...caller, ...descriptorVariables(credentials) }, {
    ...environment,
    rendezvous,
    logLevel: logLevel(order, decided),
    splitShell: decided.splitShell,
  });
  return {
    sessionId: session.id,
    permissionMode: mode,
    args,
    env,
    credentials,
    contents: childContents(order, {
      facts,
      decided,
      variables,
      env,
      texts: texts.files,
      asksCaller,
    }),
    rendezvous,
    twin: order.prompt !== undefined && facts.gated.asked === undefined && !facts.gated.rewinds
      ? undefined
      : twinPlan(parts, {
        args: args.filter((argument) =>
          ![HIDING, HIDING_AGENT, `--mcp-config=${parts.bridgeConfigPath}`, ...sealing]
            .includes(argument) &&
          !decided.agents.args.includes(argument)
        ),
        agents: decided.agents.problem === undefined ? order.initialized?.longAgents : undefined,
        env: childEnvironment(caller, environment),
        userConfigDir: userConfig.dir,
        callerSettings: facts.callerSettings,
        asksCaller,
      }),
    retryLog: order.retries ? log : undefined,
    toldLog: order.debugToStderr ? log : undefined,
    mcpLog: isGated ? log : undefined,
    conversation: conversationOf(order, { facts, decided, betas }),
    endsAlone: endsAlone(order, { facts, decided }),
    message: messageOf(order, { facts, decided }),
    warnings: [
      ...warnings,
      ...(order.ineffective ?? []),
      ...(order.initialized?.ineffective ?? []),
      ...facts.warnings,
    ],
  };
}

/** The variable by which `claude -p` takes how many requests a turn may make, where no flag says so. */
const TURNS = "CLAUDE_CODE_MAX_TURNS";

/**
 * An order with the limit of turns that a variable names, which the interactive Claude Code does not heed. One that makes
 * no sense it refuses itself, as `claude -p` does (2.1.330).
 *
 * @param settings what Claude Code reads for the run
 */
function boundedOrder(order: RunOrder, settings: readonly JsonObject[]): RunOrder {
  if (order.maxTurns !== undefined) return order;
  const turns = namedVariable(TURNS, { env: order.env, settings });
  return /^[1-9]\d*$/u.test(turns) ? { ...order, maxTurns: Number(turns) } : order;
}

function messageOf(
  { prompt: text, altered }: RunOrder,
  { facts: { gated }, decided: { inject } }: {
    readonly facts: PlanFacts;
    readonly decided: Decisions;
  },
): Prompt | undefined {
  return text === undefined ? undefined : {
    text,
    way: inject,
    ...(gated.expands ? { command: `/${slashWord(text)?.name ?? ""}` } : {}),
    ...(altered === undefined ? {} : { altered }),
  };
}

/** What the debug log has to tell: of connections to MCP servers, else only of failures; a caller's is the caller's. */
function logLevel(
  { debugToStderr }: RunOrder,
  { isGated, callerLog, log }: Decisions,
): "debug" | "warn" | undefined {
  if (isGated) return "debug";
  if (debugToStderr) return undefined;
  return log !== callerLog ? "warn" : undefined;
}

/** Flags that say which session it is, or where something is written, or start programs of the user's. */
const NOT_FOR_TWINS =
  /^--(?:resume|session-id|fork-session|debug|debug-file|name|worktree|settings)(?:=|$)/u;

/** What the flag begins with that names the session to go on with. */
const RESUME = "--resume=";

/** Flags that say which MCP servers there are. */
const OF_SERVERS = /^--(?:strict-)?mcp-config(?:=|$)/u;

/**
 * How a headless Claude Code is started that says what the child would: as the child, but without hooks, and without MCP
 * servers unless they are what is asked about.
 *
 * @param options.args the child's arguments
 * @param options.env its environment, with another config dir
 * @param options.agents the caller's agents that are too long for a command line
 */
function twinPlan(
  { twinDir: configDir, twinSettingsPath: path }: FolderParts,
  { args, env, userConfigDir, callerSettings, asksCaller, agents }: {
    readonly args: readonly string[];
    readonly env: Environment;
    readonly userConfigDir: string;
    readonly callerSettings: JsonObject;
    readonly asksCaller: boolean;
    readonly agents?: JsonObject | undefined;
  },
): TwinPlan {
  const resumed = args.find((argument) => argument.startsWith(RESUME))?.slice(RESUME.length);
  return {
    args: [
      "-p",
      ...["--input-format=stream-json", "--output-format=stream-json", "--verbose"],
      `--settings=${path}`,
      ...(asksCaller ? ["--permission-prompt-tool=stdio"] : []),
      ...args.filter((argument) => !NOT_FOR_TWINS.test(argument) && !OF_SERVERS.test(argument)),
    ],
    serverArgs: args.filter((argument) => OF_SERVERS.test(argument)),
    env: { ...env, CLAUDE_CONFIG_DIR: configDir },
    ...(resumed === undefined ? {} : { resumed }),
    configDir,
    userConfigDir,
    settings: { path, values: callerSettings },
    ...(agents === undefined ? {} : { agents }),
  };
}

/** Tools that ask a person: `claude -p` does not offer them either, unless somebody answers for one. */
const HIDING = "--disallowedTools=AskUserQuestion,EnterPlanMode,ExitPlanMode";

/** A kind of subagent that comes along, and that `claude -p` does not offer to anybody. */
const HIDING_AGENT = "--disallowedTools=Agent(claude-code-guide)";

/** The command line of the child. */
function childArgs(
  order: RunOrder,
  { session, childMode, hookless, sealsHooks, log, servers, agents, parts, texts }: Decisions & {
    readonly parts: FolderParts;
    readonly texts: PlacedTexts;
  },
): readonly string[] {
  const { resumed } = session;
  // A session that the caller names is named among the forwarded arguments.
  const isOwn = order.sessionId === undefined && session.id !== resumed;
  return [
    `--permission-mode=${childMode}`,
    // Given by a variable, which does not reach the child.
    ...(hookless === undefined || order.forwarded.includes(hookless) ? [] : [hookless]),
    ...(order.asksCaller || order.promptTool !== undefined ? [] : [HIDING]),
    // The model is not to call it.
    ...(order.promptTool === undefined ? [] : [`--disallowedTools=${order.promptTool}`]),
    HIDING_AGENT,
    ...order.disallowedTools.map((tools) => `--disallowedTools=${tools}`),
    `--settings=${parts.settingsPath}`,
    ...texts.asked,
    // Older versions ask for no redacted thoughts with it, as with -p, but say so in other words; which version it is a
    // text does not wait to be told.
    ...(order.omitsThinking && !order.forwarded.some(isThinkingDisplay)
      ? ["--thinking-display=omitted"]
      : []),
    ...(isOwn ? [`--session-id=${session.id}`] : []),
    ...(resumed === undefined ? [] : [`--resume=${resumed}`]),
    ...texts.forwarded.filter((argument) => !argument.startsWith("--resume=")),
    // Of sources, and of agents, the last are those that count.
    ...agents.args,
    // Of servers with one name the last is the one that counts.
    ...(servers.length === 0 ? [] : [`--mcp-config=${parts.bridgeConfigPath}`]),
    ...(sealsHooks ? sealingArgs(order, parts) : []),
    ...(order.debugFile === undefined && log !== undefined ? [`--debug-file=${log}`] : []),
  ];
}

function isThinkingDisplay(argument: string): boolean {
  return argument.startsWith("--thinking-display=");
}

/**
 * The arguments by which no hooks run but those of our plugin (2.1.330). Of several managed settings the last
 * count.
 */
function sealingArgs(
  { forwarded }: Pick<RunOrder, "forwarded">,
  { hooksPluginDir }: Pick<FolderParts, "hooksPluginDir">,
): readonly string[] {
  const flag = "--managed-settings=";
  const given = forwarded.findLast((argument) => argument.startsWith(flag))?.slice(flag.length);
  const { strictPluginOnlyCustomization: strict, ...managed } = jsonObjectIn(given ?? "") ?? {};
  const sealed = [...Array.isArray(strict) ? strict : [], "hooks"];
  return [
    `${flag}${JSON.stringify({ ...managed, strictPluginOnlyCustomization: sealed })}`,
    `--plugin-dir=${hooksPluginDir}`,
  ];
}

/** The only beta header that Claude Code lets its user add (2.1.330). */
const ALLOWED_BETA = "context-1m-2025-08-07";

/** What `--task-budget` makes Claude Code send along. */
const TASK_BUDGET_BETA = "task-budgets-2026-03-13";

/** Variables of the child that add to its requests to the API. */
const BETAS = "ANTHROPIC_BETAS";
const BODY = "CLAUDE_CODE_EXTRA_BODY";

/** Variables for the child, and what the user is to be told of flags that have no effect. */
interface RequestVariables {
  readonly variables: Environment;
  /** The headers of `--betas` that Claude Code sends. */
  readonly betas: readonly string[];
  readonly warnings: readonly string[];
}

/**
 * What `--betas` and `--task-budget` ask for, as the interactive Claude Code takes it: it ignores these flags, but
 * adds to its requests what the environment names.
 *
 * As with `claude -p`, `--betas` takes one header and works with an API key alone; everything else is warned of and left
 * out.
 *
 * @param options.settings what Claude Code reads for the run, the last ones first in effect: their `env` comes before
 * the caller's environment
 */
export function requestVariables(
  { betas, taskBudget, env }: Pick<RunOrder, "betas" | "taskBudget" | "env">,
  { login, settings }: { readonly login: Login; readonly settings: readonly JsonObject[] },
): RequestVariables {
  const named = (name: string) => namedVariable(name, { env, settings });
  const isAllowed = hasApiKey(login) && betas.includes(ALLOWED_BETA);
  const allowed = isAllowed ? [ALLOWED_BETA] : [];
  const added = [
    ...allowed,
    ...(taskBudget === undefined ? [] : [TASK_BUDGET_BETA]),
  ];
  const known = named(BETAS).split(",").map((beta) => beta.trim()).filter((beta) => beta !== "");
  return {
    variables: {
      ...(added.length === 0 ? {} : { [BETAS]: [...new Set([...known, ...added])].join(",") }),
      ...(taskBudget === undefined ? {} : { [BODY]: withTaskBudget(named(BODY), taskBudget) }),
    },
    betas: allowed,
    warnings: warningsOf(betas, login),
  };
}

/** Whether Claude Code takes itself for a user of an API key: with everything but a subscription's login. */
function hasApiKey(login: Login): boolean {
  return !(login.kind === "stored" ||
    (login.kind === "variable" && login.name.startsWith("CLAUDE_CODE_OAUTH_TOKEN")));
}

function warningsOf(betas: readonly string[], login: Login): readonly string[] {
  if (betas.length === 0) return [];
  if (!hasApiKey(login)) {
    return ["--betas has no effect: Claude Code takes it with an API key only"];
  }
  return betas.filter((beta) => beta !== ALLOWED_BETA).map((beta) =>
    `--betas has no effect for "${beta}": Claude Code takes ${ALLOWED_BETA} only`
  );
}

/** The body with the budget in it; what is no object Claude Code would leave out too. */
function withTaskBudget(body: string, total: number): string {
  let known: unknown;
  try {
    known = JSON.parse(body);
  } catch {
    known = {};
  }
  const others = isJsonObject(known) ? known : {};
  const config = isJsonObject(others["output_config"]) ? others["output_config"] : {};
  return JSON.stringify({
    ...others,
    output_config: { ...config, task_budget: { type: "tokens", total } },
  });
}
