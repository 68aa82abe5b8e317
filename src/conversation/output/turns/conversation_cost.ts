import { mergedUsage, modelUsageOf, withoutNoise } from "../result/model_usage.ts";
import { spawnedIn, type TurnTotals } from "../result/turn_totals.ts";
import { describedModel } from "../emit_frames.ts";
import type { OutputState } from "../output_state.ts";
import { type Cost, costOfEntries, type Spent } from "../../../claude/transcript/cost.ts";
import { isJsonObject, type JsonObject } from "../../../json_object.ts";
import { runTurns, safetyStopsOf, subagentsOf, sumOf } from "./run_turns.ts";
import type { Message } from "../../control/message.ts";
import type { EarlierOutput } from "../output_options.ts";

/**
 * What a run has cost whose child still lives, as its status line has reported. Until the first report a conversation has
 * cost what was paid before this child: the next result has the rest.
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

/** What is known of the cost of a conversation. */
export type CostState =
  & Pick<OutputState, "model" | "described" | "earlier" | "options">
  & {
    readonly cost?: OutputState["cost"] | undefined;
  };

/**
 * What each model has used, where that is known: the child tells no more than the sum, so it has to have had one model
 * alone, and nothing before that nobody has told of.
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
  // What a request that was stopped has cost is told with the next one.
  const isWhole = models.size === 1 && !isCut && spawnedIn(subagents) === 0;
  if (!isWhole || only === undefined) return undefined;
  const costUSD = before.totalUsd === 0
    ? cost.totalUsd
    : withoutNoise(cost.totalUsd - before.totalUsd);
  return mergedUsage(usedBefore, { [fullModelName(only, state)]: modelUsage(usage, costUSD) });
}

/** A model's name with the `[1m]` that the API does not say; SessionStart names none where a session goes on. */
function fullModelName(
  name: string,
  state: Pick<CostState, "model" | "described" | "options">,
): string {
  const named = [state.options.model, state.model, describedModel(state)];
  return named.find((each) => each?.replace(/\[1m\]$/u, "") === name) ?? name;
}

/** What models have used before the child's first turn, where that is known. */
export function usageBefore(state: CostState): Cost["modelUsage"] | undefined {
  return countedBefore(state)?.modelUsage;
}

/** What the child counts from: what the one before it has told, or what a session that it resumes has noted. */
function countedBefore(
  { cost, earlier, options: { before } }: CostState,
): Pick<Cost, "totalUsd"> & Partial<Pick<Cost, "modelUsage">> | undefined {
  if (before !== undefined) return before;
  const goesOn = earlier.length > 0;
  const noted = goesOn ? costOfEntries(earlier) : undefined;
  // It may begin anew all the same.
  const isNoted = goesOn && (noted === undefined || (cost?.totalUsd ?? 0) >= noted.totalUsd);
  return isNoted ? noted : { totalUsd: 0, modelUsage: {} };
}

/** What a conversation has cost whose child has asked no model yet. */
export function costBefore({ options: { before } }: Pick<OutputState, "options">): Cost {
  const { totalUsd = 0, apiDurationMs = 0, modelUsage = {} } = before ?? {};
  return { totalUsd, apiDurationMs, modelUsage, hasUnknownPrice: totalUsd > 0 ? false : undefined };
}

/** What a conversation has cost whose child has ended and told its own cost; it may count what was paid before it. */
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

/** The usage of the API's answers in the names that Claude Code has for it. */
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
 * What a conversation has used, in an answer to `get_usage` that a headless Claude Code has given, of which only what it
 * says of the account is true here: that one has used nothing, and sees no other session of this machine.
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
 * What a conversation has used.
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
 * A line of a transcript with what a conversation has used, as Claude Code notes that at its end and goes on from it where
 * it resumes the session; undefined if it is not known for each model.
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

/** What a conversation has spent, and what its models have used, where that is known. */
function usedSoFar(state: OutputState) {
  const { options: { before, startedAt } } = state;
  const spent: Spent = state.cost ?? before ?? { totalUsd: 0, apiDurationMs: 0 };
  // What has cost nothing has used nothing.
  const modelUsage = spent.totalUsd === 0
    ? {}
    : usageSoFar({ ...state, cost: spent }, sumOf(runTurns(state)));
  return { spent, modelUsage, startedAt: before?.startedAt ?? startedAt };
}

/** The most that each model may answer, as far as requests tell: not where the user has set it, which `claude -p` leaves out. */
export function outputLimits(
  { options, kept }: OutputState,
): ReadonlyMap<string, number> | undefined {
  return options.limitsOutput ? undefined : kept.notes.maxOutputTokens;
}

/**
 * What a child that is gone leaves to the next one of the conversation.
 *
 * @param untaken messages that it has not taken
 */
export function leftForNextChild(state: OutputState, untaken: readonly Message[]): EarlierOutput {
  const { results, otherResults, described, commands, activity, options } = state;
  const { before, startedAt } = options;
  const { totalUsd = 0, apiDurationMs = 0, lines } = state.cost ?? before ?? {};
  const turns = sumOf(runTurns(state));
  const stops = safetyStopsOf(state, turns);
  const cost = { totalUsd, apiDurationMs, ...(lines === undefined ? {} : { lines }) };
  // What has cost nothing has used nothing.
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
