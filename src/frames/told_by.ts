import type { Message } from "../session/message.ts";
import { runTurns, subagentsOf } from "./results.ts";
import type { FramesState } from "./telling/frames_state.ts";
import type { ToldBefore } from "./telling/frames_options.ts";

/**
 * What a child that is gone leaves to the next one of the conversation.
 *
 * @param untaken messages that it has not taken
 */
export function toldBy(state: FramesState, untaken: readonly Message[]): ToldBefore {
  const { results, locals, cost, described } = state;
  const queued = untaken.map(({ uuid }) => uuid).filter((uuid) => uuid !== undefined);
  return {
    results: results + locals,
    totalUsd: 0,
    apiDurationMs: 0,
    ...cost,
    subagents: subagentsOf(state, runTurns(state)),
    ...(described === undefined ? {} : { described }),
    ...(queued.length === 0 ? {} : { queued }),
  };
}
