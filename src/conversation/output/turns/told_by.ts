import type { Message } from "../../control/message.ts";
import { usageSoFar } from "./cost_so_far.ts";
import { runTurns, safetyStopsOf, subagentsOf, sumOf } from "./run_turns.ts";
import type { FramesState } from "../telling/frames_state.ts";
import type { ToldBefore } from "../telling/frames_options.ts";

/**
 * What a child that is gone leaves to the next one of the conversation.
 *
 * @param untaken messages that it has not taken
 */
export function toldBy(state: FramesState, untaken: readonly Message[]): ToldBefore {
  const { results, locals, described, commands, activity, options } = state;
  const { before, startedAt } = options;
  const { totalUsd = 0, apiDurationMs = 0, lines } = state.cost ?? before ?? {};
  const turns = sumOf(runTurns(state));
  const stops = safetyStopsOf(state, turns);
  const cost = { totalUsd, apiDurationMs, ...(lines === undefined ? {} : { lines }) };
  // What has cost nothing has used nothing.
  const modelUsage = totalUsd === 0 ? {} : usageSoFar({ ...state, cost }, turns);
  const queued = untaken.map(({ uuid }) => uuid).filter((uuid) => uuid !== undefined);
  return {
    results: results + locals,
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
