import { chainOf, listOf } from "../../../chain.ts";
import { lineId } from "../../../claude/transcript/entry_order.ts";
import { type Turn, turnsOf } from "../../../claude/transcript/turn.ts";
import {
  type SubagentStats,
  subagentStats,
  type TurnTotals,
  withTurns,
} from "../result/turn_totals.ts";
import { type FramesState, knownCall, type OutputStep } from "../telling/frames_state.ts";

/** The turns of a run so far. */
export interface RunTurns {
  /** What those come to of which nothing else is known any more. */
  readonly past: TurnTotals;
  /** Those that follow them, the oldest first. */
  readonly recent: readonly Turn[];
  /** How many of these have had their results told. */
  readonly printed: number;
}

/** The turns of the run so far; what calls that succeeded were given is not known any more. */
export function runTurns(state: FramesState): RunTurns {
  const { kept: { entries, past }, begins, failed, results } = state;
  const calls = new Map(listOf(failed).map((call) => [call.id, call]));
  const recent = turnsOf(listOf(entries), { begins }).map((turn) => ({
    ...turn,
    toolUses: turn.toolUses.map((use) => calls.get(use.id) ?? knownCall(state, use.id) ?? use),
  }));
  return { past, recent, printed: results - past.count };
}

/** What all turns of a run come to. */
export function sumOf({ past, recent }: RunTurns): TurnTotals {
  return withTurns(past, recent);
}

/**
 * Forgets all of the turns whose results have been emitted but what they come to. The last of them stays, as lines of it
 * may still be written.
 *
 * @param run the turns before those results
 */
export function forgetReported(step: OutputStep, { past, recent }: RunTurns): void {
  const { kept, begins, failed, results } = step.state;
  const over = results - past.count - 1;
  if (over <= 0) return;
  const left = recent.slice(over);
  const entries = left.flatMap(({ lines }) => lines);
  const ids = new Set(entries.map(lineId));
  const gone = listOf(kept.entries).flatMap((entry) => lineId(entry) ?? [])
    .filter((id) => !ids.has(id));
  const calls = new Set(left.flatMap(({ toolUses }) => toolUses.map(({ id }) => id)));
  step.update({
    kept: {
      ...kept,
      entries: chainOf(entries),
      past: withTurns(past, recent.slice(0, over)),
      gone: gone.reduce((all, id) => all.with(id, true), kept.gone),
    },
    begins: new Set([...begins].filter((id) => ids.has(id))),
    failed: chainOf(listOf(failed).filter(({ id }) => calls.has(id))),
  });
}

/** How often safeguards have stopped an answer, in turns and in those of children before this one. */
export function safetyStopsOf({ options: { before } }: FramesState, turns: TurnTotals): number {
  return (before?.safetyStops ?? 0) + turns.refusals;
}

/** Counts of the subagents of turns, and of those that children before this one had. */
export function subagentsOf(
  { subagentsBefore: before, taskEnds: ends }: FramesState,
  turns: TurnTotals,
  { stopped = 0 }: { readonly stopped?: number } = {},
): SubagentStats {
  return subagentStats(turns.subagents, { stopped, before, ends });
}
