import { projectSlug } from "../../claude/transcript/session_files.ts";
import { OUTPUT_SERVER, toolPrefix } from "../../claude/transcript/structured_output_tool.ts";
import type { Limits, SessionOptions } from "../../conversation/control/session_options.ts";
import type { ConversationOptions } from "../../conversation/output/conversation.ts";
import type { ReportOptions } from "../../conversation/output/result/verdict.ts";
import type { OutputOptions } from "../../conversation/output/output_options.ts";
import type { PromptTool } from "../../conversation/protocol/caller_options.ts";
import { definedFields } from "../../defined_fields.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";
import {
  mayHaveOtherHooks,
  type Settings,
  silencesHooks,
  valuesOf,
  watchesModels,
} from "../../sandbox/child/read_settings.ts";
import { KEY_DESCRIPTOR } from "../../sandbox/user_config.ts";
import { type Environment, isSwitchedOn } from "../../sandbox/environment.ts";
import { folderParts } from "../../sandbox/folder/folder_layout.ts";
import { deterministicVariables, variableOf, WITHOUT_MEMORY } from "./api_variables.ts";
import { asksForPermissions } from "./child_args.ts";
import { callerServersOf, type Decisions, type KnownRun, shellOutputOf } from "./decide.ts";
import { allowsBypass, LOOSE } from "./permission_mode.ts";
import type { PlanFacts } from "./plan_facts.ts";
import { flagValues, type RunOrder } from "./run_order.ts";

/**
 * The options of a run's conversation.
 *
 * @param betas the headers of `--betas` that Claude Code sends
 */
export function conversationOptions(
  order: RunOrder,
  known: KnownRun,
  betas: readonly string[],
): ConversationOptions {
  return {
    session: sessionOptions(order, known),
    frames: framesOptions(order, known, betas),
    report: reportOptions(order, known.facts),
  };
}

function sessionOptions(order: RunOrder, { facts, decided }: KnownRun): SessionOptions {
  const { output } = facts;
  const isConversation = order.prompt === undefined;
  const isHookless = decided.hookless !== undefined;
  const awaited = awaitedServers(order, facts);
  return {
    size: facts.terminalSize,
    ...limitsOf(order),
    otherStopHooks: hasOtherHooks(order, { facts, event: "Stop" }),
    ...definedFields({
      ...conversationFields(order, facts),
      timeoutMs: isConversation ? undefined : facts.timeLeftMs,
      backgroundCeilingMs: backgroundCeiling(order.env),
      hookless: isHookless || undefined,
      keptAtEnd: !isHookless || undefined,
      maxTurns: order.maxTurns,
      requestsMade: order.requestsMade,
      loose: mayTighten(order, decided) || undefined,
      skills: order.initialized?.skills,
      maxBudgetUsd: order.maxBudgetUsd,
      paidUsd: order.before?.totalUsd,
      asksStatus: order.limitsTold || undefined,
      imagesDir: isConversation ? folderParts(facts.folder).imagesDir : undefined,
      output: output && { schema: output.schema, maxTries: outputTries(order.env) },
      mcpServers: decided.connections || undefined,
      bridged: decided.servers.length === 0 ? undefined : decided.servers,
      awaited: awaited.length === 0 ? undefined : awaited,
      unattended: order.unattended,
      caller: callerOptions(order, { facts, decided }),
      hasOnStdin: order.onStdin === undefined ? undefined : true,
      readsNoMentions: order.readsNoMentions,
      needsTrust: mayNeedTrust(facts.settings) || undefined,
      wakeless: facts.scheduledTasks || isSwitchedOn(order.env[NO_CRON]) || undefined,
    }),
  };
}

/** Switches off scheduled prompts. With it, `claude -p` does not wait for any. */
const NO_CRON = "CLAUDE_CODE_DISABLE_CRON";

/** The fields that sessions and frames share in a conversation. */
function conversationFields({ prompt }: RunOrder, { version }: PlanFacts) {
  return prompt === undefined ? { conversation: true, version } as const : {};
}

/** Servers of the command line, for which `claude -p` waits until they have connected or failed. */
function awaitedServers(
  { unreached = [] }: RunOrder,
  { mcpServers }: PlanFacts,
): readonly string[] {
  return mcpServers.filter(({ source, disabled }) => source === "dynamic" && !disabled)
    .map(({ name }) => name).filter((name) => !unreached.includes(name));
}

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
 * Whether the caller may switch, during a turn, to a mode that asks about calls which the child's mode allows. A hook
 * before each call then asks the caller.
 */
export function mayTighten(order: RunOrder, { mode }: Pick<Decisions, "mode">): boolean {
  return order.prompt === undefined && order.asksCaller && LOOSE.includes(mode);
}

/**
 * Whether a hook runs before tool calls, including ours. Hooks of plugins are not counted, because few plugins have
 * any. A call that seems not to begin is awaited in any case.
 */
function hasCallHooks(order: RunOrder, { settings }: PlanFacts): boolean {
  const { initialized, maxBudgetUsd } = order;
  return maxBudgetUsd !== undefined || initialized?.skills !== undefined ||
    initialized?.callbacks.some(({ event }) => event === "PreToolUse") === true ||
    settingsOfHooks(settings, order).some(({ hooks }) =>
      isJsonObject(hooks) && hooks["PreToolUse"] !== undefined
    );
}

/** Whether project settings contain anything other than hooks. Hooks run without trust; other settings may need it. */
function mayNeedTrust(settings: readonly Settings[]): boolean {
  return settings.some(({ source, values }) =>
    (source === "project" || source === "local") &&
    Object.keys(values).some((key) => key !== "hooks" && key !== "$schema")
  );
}

/** Whether no program of the user or the caller ends with the child, so that nothing has to wait for such a program. */
export function endsAlone(order: RunOrder, { facts, decided }: KnownRun): boolean {
  return decided.connections === 0 && decided.servers.length === 0 &&
    !hasOtherHooks(order, { facts, event: "SessionEnd" });
}

/** The options of a caller that answers control requests. */
function callerOptions(
  order: RunOrder,
  { facts, decided: { agents, mode } }: KnownRun,
): SessionOptions["caller"] {
  const { prompt, asksCaller, initialized } = order;
  const { seed, outputProblem, promptServer, settings } = facts;
  const promptTool = promptToolOf(order, promptServer);
  if (prompt !== undefined && promptTool === undefined) {
    // Permission requests are printed, but a caller that gives its prompt as text cannot answer them.
    return asksCaller
      ? { idPrefix: seed, callbacks: [], permissions: true, isAbsent: true }
      : undefined;
  }
  const { id, callbacks = [] } = initialized ?? {};
  const problems = [initialized?.error, agents.problem, outputProblem]
    .filter((each) => each !== undefined);
  return {
    idPrefix: seed,
    callbacks,
    servers: callerServersOf(order),
    permissionMode: mode,
    ...definedFields({
      permissions: asksForPermissions(order) || undefined,
      promptTool,
      setServers: order.setServers,
      switched: order.switched,
      mayBypass: order.dangerouslySkipPermissions || allowsBypass(order) || undefined,
      watchesModels: watchesModels(settingsOfHooks(settings, order)) || undefined,
      initialized: id === undefined ? undefined : {
        id,
        ...definedFields({ error: problems.length === 0 ? undefined : problems.join("; ") }),
      },
    }),
  };
}

/** The tool that answers permission requests, with its server. */
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

function framesOptions(
  order: RunOrder,
  { facts, decided }: KnownRun,
  betas: readonly string[],
): OutputOptions {
  const { env, cwd } = order;
  const { session, mode } = decided;
  const { folder, userConfig } = facts;
  const settings = valuesOf(facts.settings);
  const isConversation = order.prompt === undefined;
  const hasMemory = decided.hookless === undefined && !hasNoMemory(order);
  const hasOutputLimit = variableOf("CLAUDE_CODE_MAX_OUTPUT_TOKENS", { env, settings }) !== "";
  return {
    sessionId: session.id,
    cwd,
    permissionMode: mode,
    apiKeySource: apiKeySource(order, facts),
    servedByAnthropic: env["ANTHROPIC_BASE_URL"] === undefined,
    seed: facts.seed,
    startedAt: facts.now,
    servers: shownServers(order, { facts, decided }),
    ...definedFields({
      ...conversationFields(order, facts),
      home: env["HOME"] || undefined,
      outputStyle: outputStyle(settings),
      memoryPath: hasMemory ? decided.memoryPath : undefined,
      limitsOutput: hasOutputLimit || undefined,
      betas: betas.length === 0 ? undefined : betas,
      denialsUntold: order.promptTool === undefined ? undefined : true,
      learnt: learntOf(facts),
      faultyServers: facts.faultyServers?.map((each) => ({ ...each })),
      activity: isConversation ? activityOf(env) : undefined,
      before: order.before,
      replay: order.replayMessages || undefined,
      callHooks: hasCallHooks(order, facts) || mayTighten(order, { mode }) || undefined,
      subagentsUnread: order.frames || order.record !== undefined ? undefined : true,
      subagentText: order.subagentText || undefined,
      hookEvents: order.hookEvents || undefined,
      fastMode: fastMode(order, facts),
      title: titleOf(order),
      sandboxed: facts.sandboxLack?.length === 0 || undefined,
      homes: order.persistSession
        ? { child: folderParts(folder).configDir, user: userConfig.dir }
        : undefined,
      mirrorPath: order.sessionMirror
        ? `${userConfig.dir}/projects/${projectSlug(cwd)}/${session.id}.jsonl`
        : undefined,
      model: order.chosenModel,
      partial: order.partialMessages ? (order.exactStream ? "exact" : true) : undefined,
      heard: isHeard(order) || undefined,
      shellOutput: shellOutputOf(order),
      output: facts.output && (order.jsonSchema === undefined ? "initialized" : true),
    }),
  };
}

/** The MCP servers of the session's first frame, without this program's own. */
function shownServers(
  { unreached = [] }: RunOrder,
  { facts, decided }: KnownRun,
): NonNullable<OutputOptions["servers"]> {
  const own = [OUTPUT_SERVER, facts.promptServer?.name];
  return [
    ...facts.mcpServers.map(({ config: _, ...server }) =>
      unreached.includes(server.name) ? { ...server, unreached: true } as const : server
    ),
    ...decided.servers.filter((name) => !own.includes(name))
      .map((name) => ({ name, source: "sdk", disabled: false })),
  ];
}

/** The measurements for the running version, or for all measured versions if it is unknown. */
function learntOf({ learnt, version }: PlanFacts): OutputOptions["learnt"] {
  const facts = Object.entries(learnt ?? {}).filter(([each]) =>
    version === undefined || each === version
  );
  return facts.length === 0 ? undefined : Object.fromEntries(facts);
}

/** Whether session states are printed. An Agent SDK requests them by one variable, the SDK's user by another. */
function activityOf(env: Environment): OutputOptions["activity"] {
  if (isSwitchedOn(env["CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS"])) return "shown";
  return env["CLAUDE_CODE_SDK_READS_SESSION_STATE"] === "1" ? true : undefined;
}

/** The title of `--name`. */
function titleOf({ forwarded }: RunOrder): string | undefined {
  return flagValues(forwarded, "--name").at(-1)?.trim() || undefined;
}

function hasNoMemory({ forwarded, env, deterministic }: RunOrder): boolean {
  return forwarded.includes("--restricted") ||
    isSwitchedOn({ ...env, ...deterministicVariables({ deterministic }) }[WITHOUT_MEMORY]);
}

/** Fast mode as the flag or the caller's settings request it. Settings files do not count. */
function fastMode(
  { env, forwarded }: RunOrder,
  { callerSettings }: PlanFacts,
): OutputOptions["fastMode"] {
  if (isSwitchedOn(env["CLAUDE_CODE_DISABLE_FAST_MODE"])) return "disabled_by_env";
  const flag = flagValues(forwarded, "--fast-mode").at(-1);
  const isAsked = flag === undefined ? callerSettings["fastMode"] === true : flag === "on";
  return isAsked ? "on" : undefined;
}

function reportOptions(
  order: RunOrder,
  { binary, login, output, scheduledTasks }: PlanFacts,
): ReportOptions {
  const { maxTurns, maxBudgetUsd, record } = order;
  return {
    limits: limitsOf(order),
    binary,
    ...definedFields({
      credential: login.kind === "variable" ? login.name : undefined,
      maxTurns,
      maxBudgetUsd,
      outputTries: output && outputTries(order.env),
      keptAsleep: scheduledTasks && !isSwitchedOn(order.env[NO_CRON]) || undefined,
      record,
    }),
  };
}

/** The maximum number of the model's attempts at a structured answer. `claude -p` reads the same variable. */
function outputTries(env: Environment): number {
  const tries = parseInt(env["MAX_STRUCTURED_OUTPUT_RETRIES"] ?? "", 10);
  return Number.isNaN(tries) ? 5 : tries;
}

function limitsOf(order: RunOrder): Limits {
  const { timeoutMs, startTimeoutMs, deliveryTimeoutMs, drainTimeoutMs, exitTimeoutMs } = order;
  return {
    timeoutMs,
    startTimeoutMs,
    deliveryTimeoutMs,
    drainTimeoutMs,
    exitTimeoutMs,
    ...definedFields({ idleTimeoutMs: order.idleTimeoutMs }),
  };
}

/** The maximum wait for background tasks, in milliseconds. `claude -p` reads the same variable and values. */
function backgroundCeiling(env: Environment): number | undefined {
  const value = env["CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS"] ?? "";
  return /^\d+$/u.test(value) ? Number(value) : undefined;
}

/** All settings whose hooks may run: the user's hooks run only with `--inherit-hooks`. */
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

/** The output style that the last settings name. */
function outputStyle(settings: readonly JsonObject[]): string | undefined {
  const style = settings.map((each) => each["outputStyle"])
    .findLast((each) => typeof each === "string" && each !== "");
  return typeof style === "string" ? style : undefined;
}

/** Where the API key comes from, in Claude Code's words: a key on a descriptor has the name of its variable (2.1.330). */
function apiKeySource({ env }: RunOrder, { login, settings }: PlanFacts): string {
  const isPassed = login.kind === "variable" && login.name === KEY_DESCRIPTOR;
  if (isPassed || env["ANTHROPIC_API_KEY"]) return "ANTHROPIC_API_KEY";
  return valuesOf(settings).some(({ apiKeyHelper }) => typeof apiKeyHelper === "string")
    ? "apiKeyHelper"
    : "none";
}

/**
 * Whether the API's stream is observed by a relay that exists for another purpose. A recorded run does not use its
 * relay in this way, so that it prints the same output as without `--record`.
 */
function isHeard({ apiCassette, deterministic, exactStream }: RunOrder): boolean {
  return !exactStream && (apiCassette !== undefined || deterministic);
}
