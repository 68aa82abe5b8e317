import type { ConversationOptions } from "../../frames/conversation.ts";
import type { FramesOptions } from "../../frames/frames_state.ts";
import type { ReportOptions } from "../../frames/report.ts";
import { mayHaveOtherStopHooks } from "../../sandbox/child/other_stop_hooks.ts";
import type { Settings } from "../../sandbox/child/read_settings.ts";
import type { Environment } from "../../sandbox/environment.ts";
import type { JsonObject } from "../../transcript/json_object.ts";
import { DENIAL_MESSAGE } from "../../session/hook_answers.ts";
import type { Limits, SessionOptions } from "../../session/session_state.ts";
import { projectSlug } from "../../transcript/project_slug.ts";
import { type Decisions, serversOf } from "./decide.ts";
import type { PlanFacts } from "./plan_facts.ts";
import type { RunOrder } from "./run_order.ts";
import { shellOutputOf } from "./shell_output_of.ts";
import { valuesOf } from "./values_of.ts";

/** The facts of a run, and what was decided from them. */
interface Known {
  readonly facts: PlanFacts;
  readonly decided: Decisions;
}

/** What the machines are told of a run, but for the time of the start. */
export function conversationOf(order: RunOrder, known: Known): ConversationOptions {
  return {
    session: sessionOptions(order, known),
    frames: framesOptions(order, known),
    report: reportOptions(order, known),
  };
}

function sessionOptions(order: RunOrder, { facts }: Known): SessionOptions {
  const mcpServers = facts.mcpServers + serversOf(order).length;
  return {
    ...byMessage(order, facts),
    size: facts.terminalSize,
    ...limitsOf(order),
    ...(order.prompt === undefined ? {} : { timeoutMs: facts.timeLeftMs }),
    ...backgroundCeiling(order.env),
    ...(order.maxTurns === undefined ? {} : { maxTurns: order.maxTurns }),
    ...(order.maxBudgetUsd === undefined ? {} : { maxBudgetUsd: order.maxBudgetUsd }),
    ...(order.before === undefined ? {} : { paidUsd: order.before.totalUsd }),
    ...(order.limitsTold ? { asksStatus: true } : {}),
    ...(mcpServers === 0 ? {} : { mcpServers }),
    ...callerOptions(order, facts),
    otherStopHooks: order.initialized?.callbacks.some(({ event }) => event === "Stop") === true ||
      mayHaveOtherStopHooks(settingsOfHooks(facts.settings, order)) ||
      order.forwarded.some((argument) => /^--(?:agents?|plugin-)/u.test(argument)),
  };
}

/** What the session is told of a caller that decides for it. */
function callerOptions(
  { prompt, asksCaller = false, initialized, ...order }: RunOrder,
  { seed }: PlanFacts,
): Pick<SessionOptions, "caller"> {
  if (prompt !== undefined) return {};
  const mayBypass = order.dangerouslySkipPermissions ||
    order.forwarded.includes("--allow-dangerously-skip-permissions");
  const { id, callbacks = [], error } = initialized ?? {};
  return {
    caller: {
      idPrefix: seed,
      callbacks,
      ...(asksCaller ? { permissions: true } : {}),
      ...(mayBypass ? { mayBypass } : {}),
      ...(id === undefined ? {} : { initialized: error === undefined ? { id } : { id, error } }),
    },
  };
}

/** What both machines are told of a run whose messages come as it goes on. */
function byMessage(
  { prompt }: RunOrder,
  { version }: PlanFacts,
): Pick<SessionOptions, "conversation" | "version"> {
  if (prompt !== undefined) return {};
  return { conversation: true, ...(version === undefined ? {} : { version }) };
}

function framesOptions(
  order: RunOrder,
  { facts, decided: { session, mode, memoryPath } }: Known,
): FramesOptions {
  const { env, cwd } = order;
  const shellOutput = shellOutputOf(order);
  return {
    sessionId: session.id,
    cwd,
    permissionMode: mode,
    apiKeySource: apiKeySource(env, valuesOf(facts.settings)),
    memoryPath,
    servedByAnthropic: env["ANTHROPIC_BASE_URL"] === undefined,
    denialMessages: [DENIAL_MESSAGE],
    seed: facts.seed,
    startedAt: facts.now,
    ...(order.before === undefined ? {} : { before: order.before }),
    ...(order.replayMessages ? { replay: true } : {}),
    ...(order.subagentText ? { subagentText: true } : {}),
    ...(order.sessionMirror
      ? { mirrorPath: `${facts.userConfig.dir}/projects/${projectSlug(cwd)}/${session.id}.jsonl` }
      : {}),
    ...(order.chosenModel === undefined ? {} : { model: order.chosenModel }),
    ...(order.partialMessages ? { partial: order.exactStream ? "exact" : true } : {}),
    ...(shellOutput === undefined ? {} : { shellOutput }),
    ...byMessage(order, facts),
  };
}

function reportOptions(order: RunOrder, { facts: { binary, login } }: Known): ReportOptions {
  const { maxTurns, maxBudgetUsd, record } = order;
  return {
    limits: limitsOf(order),
    binary,
    ...(login.kind === "variable" ? { credential: login.name } : {}),
    ...(maxTurns === undefined ? {} : { maxTurns }),
    ...(maxBudgetUsd === undefined ? {} : { maxBudgetUsd }),
    ...(record === undefined ? {} : { record }),
  };
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
  return settings.map(({ source, values }) => {
    if (source !== "user" || inheritHooks) return values;
    const { hooks: _, ...others } = values;
    return others;
  });
}

function apiKeySource(env: Environment, settings: readonly JsonObject[]): string {
  if (env["ANTHROPIC_API_KEY"]) return "ANTHROPIC_API_KEY";
  return settings.some(({ apiKeyHelper }) => typeof apiKeyHelper === "string")
    ? "apiKeyHelper"
    : "none";
}
