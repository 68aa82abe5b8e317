import { outputLimits } from "./output_limits.ts";
import { usageSoFar } from "./cost_so_far.ts";
import { modelUsageOf } from "../result/model_usage.ts";
import { runTurns, sumOf } from "./run_turns.ts";
import type { FramesState } from "../telling/frames_state.ts";
import type { Spent } from "../../../claude/transcript/cost.ts";
import type { JsonObject } from "../../../json_object.ts";

/**
 * What a conversation has used, in an answer to `get_usage` that a headless Claude Code has given, of which only what it
 * says of the account is true here: that one has used nothing, and sees no other session of this machine.
 *
 * @param options.now milliseconds since the epoch
 */
export function withUsage(
  state: FramesState,
  { response, now }: { readonly response: JsonObject; readonly now: number },
): JsonObject {
  return { ...response, session: sessionUsage(state, now), behaviors: null };
}

/**
 * What a conversation has used.
 *
 * @param now milliseconds since the epoch
 */
export function sessionUsage(state: FramesState, now: number): JsonObject {
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
  state: FramesState,
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
function usedSoFar(state: FramesState) {
  const { options: { before, startedAt } } = state;
  const spent: Spent = state.cost ?? before ?? { totalUsd: 0, apiDurationMs: 0 };
  // What has cost nothing has used nothing.
  const modelUsage = spent.totalUsd === 0
    ? {}
    : usageSoFar({ ...state, cost: spent }, sumOf(runTurns(state)));
  return { spent, modelUsage, startedAt: before?.startedAt ?? startedAt };
}
