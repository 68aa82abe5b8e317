import { outputLimits } from "./output_limits.ts";
import { usageSoFar } from "./cost_so_far.ts";
import { modelUsageOf } from "../result/model_usage.ts";
import { runTurns, sumOf } from "./run_turns.ts";
import type { FramesState } from "../telling/frames_state.ts";
import type { JsonObject } from "../../json_object.ts";

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
  const { version = "unknown", options: { before, startedAt }, limits } = state;
  const spent = state.cost ?? before ?? { totalUsd: 0, apiDurationMs: 0 };
  const run = runTurns(state);
  // What has cost nothing has used nothing.
  const modelUsage = spent.totalUsd === 0
    ? {}
    : usageSoFar({ ...state, cost: spent }, sumOf(run)) ?? {};
  return {
    total_cost_usd: spent.totalUsd,
    total_api_duration_ms: spent.apiDurationMs,
    total_duration_ms: Math.round(now - (before?.startedAt ?? startedAt)),
    total_lines_added: spent.lines?.added ?? 0,
    total_lines_removed: spent.lines?.removed ?? 0,
    model_usage: modelUsageOf({
      version,
      cost: { ...spent, modelUsage, hasUnknownPrice: false },
      answering: run.recent.at(-1)?.model,
      maxOutputTokens: outputLimits(state),
      limits,
    }),
  };
}
