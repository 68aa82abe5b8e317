import { runTurns, subagentsOf } from "./results.ts";
import type { FramesState, ToldBefore } from "./telling/frames_state.ts";

/** What a child that is gone leaves to the next one of the conversation. */
export function toldBy(state: FramesState): ToldBefore {
  const { results, locals, cost, described } = state;
  return {
    results: results + locals,
    totalUsd: 0,
    apiDurationMs: 0,
    ...cost,
    subagents: subagentsOf(state, runTurns(state)),
    ...(described === undefined ? {} : { described }),
  };
}
