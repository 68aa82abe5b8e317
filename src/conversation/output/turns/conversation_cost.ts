import { mergedUsage, modelUsageOf, withoutNoise } from "../result/model_usage.ts";
import { spawnedIn, type TurnTotals } from "../result/turn_totals.ts";
import { describedModel } from "../emit_frames.ts";
import type { OutputState } from "../output_state.ts";
import { type Cost, readCostOfEntries, type Spent } from "../../../claude/transcript/cost.ts";
import { isJsonObject, type JsonObject } from "../../../json_object.ts";
import { runTurns, safetyStopsOf, subagentsOf, sumOf } from "./run_turns.ts";
import type { Message } from "../../control/message.ts";
import type { EarlierOutput } from "../output_options.ts";

/**
 * Returns the cost of a run whose child still lives, as its status line reported it. Before the first report it is the
 * cost before this child, and the next result includes the rest.
 */
export function costSoFar(state: CostState, turns: TurnTotals): Cost | undefined {
  if (state.cost === undefined) {
    return state.options.conversation === true ? costBefore(state) : undefined;
  }
  const modelUsage = usageSoFar(state, turns);
  return {
    ...state.cost,
    modelUsage: modelUsage ?? {},
    hasUnknownPrice: modelUsage === undefined ? undefined : false,
  };
}

/** The parts of a state on which a cost depends. */
export type CostState =
  & Pick<OutputState, "model" | "described" | "earlier" | "options">
  & {
    readonly cost?: OutputState["cost"] | undefined;
  };

/**
 * Returns the usage of each model; undefined if unknown. The child reports only the sum. So the usage is known only if
 * a single model was used and the usage before the child is known.
 */
export function usageSoFar(
  state: CostState,
  { count, models, usage, isCut, subagents }: TurnTotals,
): Cost["modelUsage"] | undefined {
  const { cost, options } = state;
  const before = countedBefore(state);
  const usedBefore = before?.modelUsage;
  if (cost === undefined || before === undefined || usedBefore === undefined) return undefined;
  if (count === 0) return options.before === undefined ? undefined : usedBefore;
  const [only] = models;
  // The cost of a request that was stopped is reported with the next request.
  const isKnown = models.size === 1 && !isCut && spawnedIn(subagents) === 0;
  if (!isKnown || only === undefined) return undefined;
  const costUSD = before.totalUsd === 0
    ? cost.totalUsd
    : withoutNoise(cost.totalUsd - before.totalUsd);
  return mergedUsage(usedBefore, { [fullModelName(only, state)]: modelUsage(usage, costUSD) });
}

/**
 * Returns a model's name with the suffix `[1m]`, which the API leaves out. SessionStart names no model if a session is
 * resumed.
 */
function fullModelName(
  name: string,
  state: Pick<CostState, "model" | "described" | "options">,
): string {
  const named = [state.options.model, state.model, describedModel(state)];
  return named.find((each) => each?.replace(/\[1m\]$/u, "") === name) ?? name;
}

/** Returns the usage of models before the child's first turn; undefined if unknown. */
export function usageBefore(state: CostState): Cost["modelUsage"] | undefined {
  return countedBefore(state)?.modelUsage;
}

/**
 * Returns the cost with which the child begins: the cost of the previous child, or the cost in the lines of a resumed
 * session.
 */
function countedBefore(
  { cost, earlier, options: { before } }: CostState,
): Pick<Cost, "totalUsd"> & Partial<Pick<Cost, "modelUsage">> | undefined {
  if (before !== undefined) return before;
  const goesOn = earlier.length > 0;
  const noted = goesOn ? readCostOfEntries(earlier) : undefined;
  // A resumed session may also begin at zero.
  const isNoted = goesOn && (noted === undefined || (cost?.totalUsd ?? 0) >= noted.totalUsd);
  return isNoted ? noted : { totalUsd: 0, modelUsage: {} };
}

/** Returns the cost of a conversation whose child has made no request yet. */
export function costBefore({ options: { before } }: Pick<OutputState, "options">): Cost {
  const { totalUsd = 0, apiDurationMs = 0, modelUsage = {} } = before ?? {};
  return { totalUsd, apiDurationMs, modelUsage, hasUnknownPrice: totalUsd > 0 ? false : undefined };
}

/** Returns the cost of a conversation whose child has ended. The child's own cost may include the cost before it. */
export function costAtEnd(
  { options: { before } }: Pick<OutputState, "options">,
  cost: Cost | undefined,
): Cost | undefined {
  if (cost === undefined || before === undefined || cost.totalUsd >= before.totalUsd) return cost;
  return {
    ...cost,
    totalUsd: cost.totalUsd + before.totalUsd,
    apiDurationMs: cost.apiDurationMs + before.apiDurationMs,
    modelUsage: mergedUsage(before.modelUsage ?? {}, cost.modelUsage),
  };
}

/** Returns the usage in the API's answers under Claude Code's names. */
function modelUsage(usage: JsonObject, costUSD: number): JsonObject {
  const nested = (name: string): JsonObject => {
    const value = usage[name];
    return isJsonObject(value) ? value : {};
  };
  const written = nested("cache_creation");
  return {
    inputTokens: usage.input_tokens ?? 0,
    outputTokens: usage.output_tokens ?? 0,
    thinkingTokens: nested("output_tokens_details").thinking_tokens ?? 0,
    cacheReadInputTokens: usage.cache_read_input_tokens ?? 0,
    cacheCreationInputTokens: usage.cache_creation_input_tokens ?? 0,
    cacheCreationEphemeral5mInputTokens: written.ephemeral_5m_input_tokens ?? 0,
    cacheCreationEphemeral1hInputTokens: written.ephemeral_1h_input_tokens ?? 0,
    webSearchRequests: nested("server_tool_use").web_search_requests ?? 0,
    costUSD,
  };
}

/**
 * Returns the headless helper's answer to `get_usage` with the usage of this conversation. The helper has used nothing
 * and sees no other session of this machine, so only its facts about the account are kept.
 *
 * @param options.now milliseconds since the epoch
 */
export function withUsage(
  state: OutputState,
  { response, now }: { readonly response: JsonObject; readonly now: number },
): JsonObject {
  return { ...response, session: sessionUsage(state, now), behaviors: null };
}

/**
 * Returns the usage of a conversation.
 *
 * @param now milliseconds since the epoch
 */
export function sessionUsage(state: OutputState, now: number): JsonObject {
  const { version = "unknown", limits } = state;
  const { spent, modelUsage = {}, startedAt } = usedSoFar(state);
  return {
    total_cost_usd: spent.totalUsd,
    total_api_duration_ms: spent.apiDurationMs,
    total_duration_ms: Math.round(now - startedAt),
    total_lines_added: spent.lines?.added ?? 0,
    total_lines_removed: spent.lines?.removed ?? 0,
    model_usage: modelUsageOf({
      version,
      cost: { ...spent, modelUsage, hasUnknownPrice: false },
      answering: runTurns(state).recent.at(-1)?.model,
      maxOutputTokens: outputLimits(state),
      limits,
    }),
  };
}

/**
 * Returns a line of a transcript with the usage of a conversation, as Claude Code writes it at its end and reads it
 * when it resumes the session; undefined if the usage of each model is unknown.
 *
 * @param options.now milliseconds since the epoch
 */
export function costNote(
  state: OutputState,
  { sessionId, now }: { readonly sessionId: string; readonly now: number },
): JsonObject | undefined {
  const { spent, modelUsage, startedAt } = usedSoFar(state);
  if (modelUsage === undefined) return undefined;
  return {
    type: "cost-state",
    sessionId,
    totalCostUSD: spent.totalUsd,
    totalAPIDuration: spent.apiDurationMs,
    totalAPIDurationWithoutRetries: spent.apiDurationMs,
    totalToolDuration: 0,
    totalLinesAdded: spent.lines?.added ?? 0,
    totalLinesRemoved: spent.lines?.removed ?? 0,
    totalDuration: Math.round(now - startedAt),
    startTime: startedAt,
    modelUsage,
    hasUnknownModelCost: false,
  };
}

/** Returns the cost of a conversation, and the usage of its models, if known. */
function usedSoFar(state: OutputState) {
  const { options: { before, startedAt } } = state;
  const spent: Spent = state.cost ?? before ?? { totalUsd: 0, apiDurationMs: 0 };
  // Without any cost there is no usage.
  const modelUsage = spent.totalUsd === 0
    ? {}
    : usageSoFar({ ...state, cost: spent }, sumOf(runTurns(state)));
  return { spent, modelUsage, startedAt: before?.startedAt ?? startedAt };
}

/**
 * Returns the output limit of each model as requests show it; undefined if the user has set a limit, as in `claude -p`.
 */
export function outputLimits(
  { options, kept }: OutputState,
): ReadonlyMap<string, number> | undefined {
  return options.limitsOutput ? undefined : kept.notes.maxOutputTokens;
}

/**
 * Returns the facts about earlier children that the next child of the conversation needs.
 *
 * @param untaken messages that the last child has not taken
 */
export function leftForNextChild(state: OutputState, untaken: readonly Message[]): EarlierOutput {
  const { results, otherResults, described, commands, activity, options } = state;
  const { before, startedAt } = options;
  const { totalUsd = 0, apiDurationMs = 0, lines } = state.cost ?? before ?? {};
  const turns = sumOf(runTurns(state));
  const stops = safetyStopsOf(state, turns);
  const cost = { totalUsd, apiDurationMs, ...(lines === undefined ? {} : { lines }) };
  // Without any cost there is no usage.
  const modelUsage = totalUsd === 0 ? {} : usageSoFar({ ...state, cost }, turns);
  const queued = untaken.map(({ uuid }) => uuid).filter((uuid) => uuid !== undefined);
  return {
    results: results + otherResults,
    ...cost,
    startedAt: before?.startedAt ?? startedAt,
    subagents: subagentsOf(state, turns),
    ...(stops === 0 ? {} : { safetyStops: stops }),
    ...(modelUsage === undefined ? {} : { modelUsage }),
    ...(described === undefined ? {} : { described }),
    ...(commands === undefined ? {} : { commands }),
    ...(queued.length === 0 ? {} : { queued }),
    ...(activity === undefined ? {} : { activity }),
  };
}
