import { allowsBypass } from "./child_settings.ts";
import { toolPrefix } from "../../claude/transcript/tool_prefix.ts";
import type { ConversationOptions } from "../../conversation/output/conversation.ts";
import type { ReportOptions } from "../../conversation/output/result/report.ts";
import type { FramesOptions } from "../../conversation/output/telling/frames_options.ts";
import { callerServersOf, type Decisions, shellOutputOf } from "./decide.ts";
import { LOOSE } from "./permission_mode.ts";
import { namedVariable, sameRequests, WITHOUT_MEMORY } from "./api_variables.ts";
import type { PlanFacts } from "./plan_facts.ts";
import type { RunOrder } from "./run_order.ts";
import {
  mayHaveOtherHooks,
  silencesHooks,
  watchesModels,
} from "../../sandbox/child/foreign_settings.ts";
import { KEY_DESCRIPTOR, type Login } from "../../sandbox/child/login.ts";
import { type Settings, valuesOf } from "../../sandbox/child/read_settings.ts";
import { type Environment, isSwitchedOn } from "../../sandbox/environment.ts";
import { folderParts } from "../../sandbox/folder/folder_parts.ts";
import type { PromptTool } from "../../conversation/protocol/caller_options.ts";
import type { Limits } from "../../conversation/control/limits.ts";
import type { SessionOptions } from "../../conversation/control/session_options.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";
import { OUTPUT_SERVER } from "../../claude/transcript/structured_output.ts";
import { projectSlug } from "../../claude/transcript/files/project_slug.ts";

/** The facts of a run, and what was decided from them. */
interface Known {
  readonly facts: PlanFacts;
  readonly decided: Decisions;
  /** The headers of `--betas` that Claude Code sends. */
  readonly betas: readonly string[];
}

/** What the machines are told of a run, but for the time of the start. */
export function conversationOf(order: RunOrder, known: Known): ConversationOptions {
  return {
    session: sessionOptions(order, known),
    frames: framesOptions(order, known),
    report: reportOptions(order, known),
  };
}

/**
 * The MCP servers of the command line, for which `claude -p` waits until they are there or have failed, but for those that
 * have failed before.
 */
function awaitedServers(
  { unreached = [] }: RunOrder,
  { mcpServers }: PlanFacts,
): Pick<SessionOptions, "awaited"> {
  const awaited = mcpServers.filter(({ source, disabled }) => source === "dynamic" && !disabled)
    .map(({ name }) => name).filter((name) => !unreached.includes(name));
  return awaited.length === 0 ? {} : { awaited };
}

function sessionOptions(order: RunOrder, { facts, decided }: Known): SessionOptions {
  const { output } = facts;
  const mcpServers = decided.connections;
  return {
    ...byMessage(order, facts),
    size: facts.terminalSize,
    ...limitsOf(order),
    ...(order.prompt === undefined ? {} : { timeoutMs: facts.timeLeftMs }),
    ...backgroundCeiling(order.env),
    ...(decided.hookless === undefined ? {} : { hookless: true }),
    ...(order.maxTurns === undefined ? {} : { maxTurns: order.maxTurns }),
    ...(order.requestsMade === undefined ? {} : { requestsMade: order.requestsMade }),
    ...(mayTighten(order, decided) ? { loose: true } : {}),
    ...(order.initialized?.skills === undefined ? {} : { skills: order.initialized.skills }),
    ...(order.maxBudgetUsd === undefined ? {} : { maxBudgetUsd: order.maxBudgetUsd }),
    ...(order.before === undefined ? {} : { paidUsd: order.before.totalUsd }),
    ...(order.limitsTold ? { asksStatus: true } : {}),
    ...(order.prompt === undefined ? { imagesDir: folderParts(facts.folder).imagesDir } : {}),
    ...(output === undefined
      ? {}
      : { output: { schema: output.schema, maxTries: outputTries(order.env) } }),
    ...(mcpServers === 0 ? {} : { mcpServers }),
    ...(decided.servers.length === 0 ? {} : { bridged: decided.servers }),
    ...awaitedServers(order, facts),
    ...(order.unattended ? { unattended: true } : {}),
    ...callerOptions(order, { facts, decided }),
    ...(order.onStdin === undefined ? {} : { hasOnStdin: true }),
    ...(order.readsNoMentions ? { readsNoMentions: true } : {}),
    ...(mayNeedTrust(facts.settings) ? { needsTrust: true } : {}),
    otherStopHooks: hasOtherHooks(order, { facts, event: "Stop" }),
    ...(facts.scheduledTasks || isSwitchedOn(order.env[NO_CRON]) ? { wakeless: true } : {}),
    ...(decided.hookless === undefined ? { keptAtEnd: true } : {}),
  };
}

/** The variable that keeps prompts which wait for their time from being sent; `claude -p` waits for none then. */
const NO_CRON = "CLAUDE_CODE_DISABLE_CRON";

/** Whether a hook that is not ours may run at an event. */
export function hasOtherHooks(
  order: RunOrder,
  { facts, event }: {
    readonly facts: Pick<PlanFacts, "settings">;
    readonly event: "Stop" | "SessionEnd" | "UserPromptSubmit";
  },
): boolean {
  const { initialized } = order;
  return initialized?.callbacks.some((callback) => callback.event === event) === true ||
    mayHaveOtherHooks(settingsOfHooks(facts.settings, order), event) ||
    initialized?.longAgents !== undefined ||
    order.forwarded.some((argument) => /^--(?:agents?|plugin-)/u.test(argument));
}

/**
 * Whether a caller may choose, in the middle of a turn, a mode in which it is asked about calls that the child carries out
 * in its own: a hook before each call has them asked about then.
 */
export function mayTighten(order: RunOrder, { mode }: Pick<Decisions, "mode">): boolean {
  return order.prompt === undefined && order.asksCaller === true && LOOSE.includes(mode);
}

/**
 * Whether a hook runs before calls, one of ours included. Those of plugins are left to the time for which a call is waited
 * for: few have any.
 */
function hasCallHooks(order: RunOrder, { settings }: PlanFacts): boolean {
  const { initialized, maxBudgetUsd } = order;
  return maxBudgetUsd !== undefined || initialized?.skills !== undefined ||
    initialized?.callbacks.some(({ event }) => event === "PreToolUse") === true ||
    settingsOfHooks(settings, order).some(({ hooks }) =>
      isJsonObject(hooks) && hooks["PreToolUse"] !== undefined
    );
}

/** Whether settings of a project say anything but which hooks it has, which run without trust too. */
function mayNeedTrust(settings: readonly Settings[]): boolean {
  return settings.some(({ source, values }) =>
    (source === "project" || source === "local") &&
    Object.keys(values).some((key) => key !== "hooks" && key !== "$schema")
  );
}

/** Whether nothing of the user's or the caller's ends with the child: no program of theirs is waited for. */
export function endsAlone(
  order: RunOrder,
  { facts, decided }: Pick<Known, "facts" | "decided">,
): boolean {
  return decided.connections === 0 && decided.servers.length === 0 &&
    !hasOtherHooks(order, { facts, event: "SessionEnd" });
}

/** What the session is told of a caller that decides for it. */
function callerOptions(
  order: RunOrder,
  { facts: { seed, outputProblem, promptServer, settings }, decided: { agents, mode } }: Pick<
    Known,
    "facts" | "decided"
  >,
): Pick<SessionOptions, "caller"> {
  const { prompt, asksCaller = false, initialized } = order;
  const promptTool = promptToolOf(order, promptServer);
  if (prompt !== undefined && promptTool === undefined) {
    // Whoever gives a prompt as a text answers nothing.
    return asksCaller
      ? { caller: { idPrefix: seed, callbacks: [], permissions: true, isAbsent: true } }
      : {};
  }
  const mayBypass = order.dangerouslySkipPermissions ||
    allowsBypass(order);
  const { id, callbacks = [] } = initialized ?? {};
  const problems = [initialized?.error, agents.problem, outputProblem]
    .filter((each) => each !== undefined);
  const error = problems.length === 0 ? undefined : problems.join("; ");
  return {
    caller: {
      idPrefix: seed,
      callbacks,
      ...(asksCaller || promptTool !== undefined ? { permissions: true } : {}),
      ...(promptTool === undefined ? {} : { promptTool }),
      servers: callerServersOf(order),
      ...(order.setServers === undefined ? {} : { setServers: order.setServers }),
      ...(order.switched === undefined ? {} : { switched: order.switched }),
      ...(mayBypass ? { mayBypass } : {}),
      permissionMode: mode,
      ...(watchesModels(settingsOfHooks(settings, order)) ? { watchesModels: true } : {}),
      ...(id === undefined ? {} : { initialized: error === undefined ? { id } : { id, error } }),
    },
  };
}

/** The tool that decides on permissions, and the server that has it if there is one. */
function promptToolOf(
  order: RunOrder,
  server: PlanFacts["promptServer"],
): PromptTool | undefined {
  const { promptTool: name } = order;
  if (name === undefined) return undefined;
  const toolOf = (of: string) => name.slice(toolPrefix(of).length);
  if (server !== undefined) return { name, server: server.name, tool: toolOf(server.name) };
  const ownServer = callerServersOf(order).find((each) => name.startsWith(toolPrefix(each)));
  return ownServer === undefined
    ? { name, tool: name }
    : { name, tool: toolOf(ownServer), ownServer };
}

/** What both machines are told of a run whose messages come as it goes on. */
function byMessage(
  { prompt }: RunOrder,
  { version }: PlanFacts,
): Pick<SessionOptions, "conversation" | "version"> {
  if (prompt !== undefined) return {};
  return { conversation: true, ...(version === undefined ? {} : { version }) };
}

/** The variable by which users set how much a model may answer. */
const OUTPUT_LIMIT = "CLAUDE_CODE_MAX_OUTPUT_TOKENS";

/** The learnt facts of the version that will run; of all learnt versions where it is not known. */
function learntOf({ learnt, version }: PlanFacts): Pick<FramesOptions, "learnt"> {
  const facts = Object.entries(learnt ?? {}).filter(([each]) =>
    version === undefined || each === version
  );
  return facts.length === 0 ? {} : { learnt: Object.fromEntries(facts) };
}

function framesOptions(
  order: RunOrder,
  { facts, decided: { session, mode, memoryPath, servers, hookless }, betas }: Known,
): FramesOptions {
  const { env, cwd } = order;
  const shellOutput = shellOutputOf(order);
  return {
    sessionId: session.id,
    cwd,
    ...(env["HOME"] ? { home: env["HOME"] } : {}),
    permissionMode: mode,
    apiKeySource: apiKeySource(env, { login: facts.login, settings: valuesOf(facts.settings) }),
    ...outputStyle(valuesOf(facts.settings)),
    ...(hookless !== undefined || hasNoMemory(order) ? {} : { memoryPath }),
    servedByAnthropic: env["ANTHROPIC_BASE_URL"] === undefined,
    ...(namedVariable(OUTPUT_LIMIT, { env, settings: valuesOf(facts.settings) }) === ""
      ? {}
      : { limitsOutput: true }),
    ...(betas.length === 0 ? {} : { betas }),
    ...(order.promptTool === undefined ? {} : { denialsUntold: true }),
    ...learntOf(facts),
    seed: facts.seed,
    startedAt: facts.now,
    servers: [
      ...facts.mcpServers.map(({ config: _, ...server }) =>
        order.unreached?.includes(server.name) ? { ...server, unreached: true } as const : server
      ),
      ...servers.filter((name) => name !== OUTPUT_SERVER && name !== facts.promptServer?.name)
        .map((name) => ({ name, source: "sdk", disabled: false })),
    ],
    ...(facts.faultyServers === undefined
      ? {}
      : { faultyServers: facts.faultyServers.map((each) => ({ ...each })) }),
    ...(order.prompt === undefined ? toldActivity(env) : {}),
    ...(order.before === undefined ? {} : { before: order.before }),
    ...(order.replayMessages ? { replay: true } : {}),
    ...(hasCallHooks(order, facts) || mayTighten(order, { mode }) ? { callHooks: true } : {}),
    ...(order.frames || order.record !== undefined ? {} : { subagentsUnread: true }),
    ...(order.subagentText ? { subagentText: true } : {}),
    ...(order.hookEvents ? { hookEvents: true } : {}),
    ...fastMode(order, facts),
    ...titleOf(order),
    ...(facts.sandboxLack?.length === 0 ? { sandboxed: true } : {}),
    ...(order.persistSession
      ? { homes: { child: folderParts(facts.folder).configDir, user: facts.userConfig.dir } }
      : {}),
    ...(order.sessionMirror
      ? { mirrorPath: `${facts.userConfig.dir}/projects/${projectSlug(cwd)}/${session.id}.jsonl` }
      : {}),
    ...(order.chosenModel === undefined ? {} : { model: order.chosenModel }),
    ...(order.partialMessages ? { partial: order.exactStream ? "exact" : true } : {}),
    ...(isHeard(order) ? { heard: true } : {}),
    ...(shellOutput === undefined ? {} : { shellOutput }),
    ...(facts.output === undefined
      ? {}
      : { output: order.jsonSchema === undefined ? "initialized" : true }),
    ...byMessage(order, facts),
  };
}

/** Whether a caller reads what the session does: one of an Agent SDK says so itself, and its user may. */
function toldActivity(env: RunOrder["env"]): Pick<FramesOptions, "activity"> {
  if (isSwitchedOn(env["CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS"])) return { activity: "shown" };
  return env["CLAUDE_CODE_SDK_READS_SESSION_STATE"] === "1" ? { activity: true } : {};
}

/** The title that the session is to have. */
function titleOf({ forwarded }: RunOrder): Pick<FramesOptions, "title"> {
  const flag = "--name=";
  const title = forwarded.findLast((argument) => argument.startsWith(flag))?.slice(flag.length);
  return title === undefined || title.trim() === "" ? {} : { title: title.trim() };
}

/** Whether there is no place for memory: in a restricted session, and where it is switched off. */
function hasNoMemory({ forwarded, env, deterministic }: RunOrder): boolean {
  return forwarded.includes("--restricted") ||
    isSwitchedOn({ ...env, ...sameRequests({ deterministic }) }[WITHOUT_MEMORY]);
}

/** What is asked of fast mode, by a flag before settings; those of files do not count. */
function fastMode(
  { env, forwarded }: RunOrder,
  { callerSettings }: PlanFacts,
): Pick<FramesOptions, "fastMode"> {
  if (isSwitchedOn(env["CLAUDE_CODE_DISABLE_FAST_MODE"])) return { fastMode: "disabled_by_env" };
  const flag = forwarded.findLast((argument) => argument.startsWith("--fast-mode="));
  const isAsked = flag === undefined ? callerSettings["fastMode"] === true : flag.endsWith("=on");
  return isAsked ? { fastMode: "on" } : {};
}

function reportOptions(
  order: RunOrder,
  { facts: { binary, login, output, scheduledTasks } }: Known,
): ReportOptions {
  const { maxTurns, maxBudgetUsd, record } = order;
  return {
    limits: limitsOf(order),
    binary,
    ...(login.kind === "variable" ? { credential: login.name } : {}),
    ...(maxTurns === undefined ? {} : { maxTurns }),
    ...(maxBudgetUsd === undefined ? {} : { maxBudgetUsd }),
    ...(output === undefined ? {} : { outputTries: outputTries(order.env) }),
    ...(scheduledTasks && !isSwitchedOn(order.env[NO_CRON]) ? { keptAsleep: true } : {}),
    ...(record === undefined ? {} : { record }),
  };
}

const OUTPUT_TRIES = 5;

/** How often the model may try to give a structured answer, in the variable that `claude -p` reads. */
function outputTries(env: Environment): number {
  const tries = parseInt(env["MAX_STRUCTURED_OUTPUT_RETRIES"] ?? "", 10);
  return Number.isNaN(tries) ? OUTPUT_TRIES : tries;
}

function limitsOf(order: RunOrder): Limits {
  return {
    timeoutMs: order.timeoutMs,
    startTimeoutMs: order.startTimeoutMs,
    deliveryTimeoutMs: order.deliveryTimeoutMs,
    ...(order.idleTimeoutMs === undefined ? {} : { idleTimeoutMs: order.idleTimeoutMs }),
    drainTimeoutMs: order.drainTimeoutMs,
    exitTimeoutMs: order.exitTimeoutMs,
  };
}

/** How long background tasks are waited for, in the variable that `claude -p` reads; it ignores other values. */
function backgroundCeiling(env: Environment): Pick<SessionOptions, "backgroundCeilingMs"> {
  const value = env["CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS"] ?? "";
  return /^\d+$/u.test(value) ? { backgroundCeilingMs: Number(value) } : {};
}

/** All settings as far as hooks go: the user's hooks are not read unless they are asked for. */
function settingsOfHooks(
  settings: readonly Settings[],
  { inheritHooks }: RunOrder,
): readonly JsonObject[] {
  if (silencesHooks(valuesOf(settings))) return [];
  return settings.map(({ source, values }) => {
    if (source !== "user" || inheritHooks) return values;
    const { hooks: _, ...others } = values;
    return others;
  });
}

/** The style that the last of several settings names. */
function outputStyle(settings: readonly JsonObject[]): Pick<FramesOptions, "outputStyle"> {
  const named = settings.map((each) => each["outputStyle"])
    .findLast((style) => typeof style === "string" && style !== "");
  return typeof named === "string" ? { outputStyle: named } : {};
}

function apiKeySource(
  env: Environment,
  { login, settings }: { readonly login: Login; readonly settings: readonly JsonObject[] },
): string {
  // Claude Code calls a key on a descriptor so, too (2.1.330).
  const isPassed = login.kind === "variable" && login.name === KEY_DESCRIPTOR;
  if (isPassed || env["ANTHROPIC_API_KEY"]) return "ANTHROPIC_API_KEY";
  return settings.some(({ apiKeyHelper }) => typeof apiKeyHelper === "string")
    ? "apiKeyHelper"
    : "none";
}

/**
 * Whether the relay that stands there for something else tells what it hears. That of a run which is recorded does not:
 * what is printed is the same with and without.
 */
function isHeard({ apiCassette, deterministic, exactStream }: RunOrder): boolean {
  return !exactStream && (apiCassette !== undefined || deterministic === true);
}
