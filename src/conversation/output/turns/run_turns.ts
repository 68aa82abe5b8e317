import { chainOf, listOf } from "../../../chain.ts";
import { lineId } from "../../../claude/transcript/entry_order.ts";
import { splitTurns, type Turn } from "../../../claude/transcript/turn.ts";
import {
  type SubagentStats,
  subagentStats,
  type TurnTotals,
  withTurns,
} from "../result/turn_totals.ts";
import { knownCall, type OutputState, type OutputStep, type TurnEnd } from "../output_state.ts";
import type { ChildRemains, Exit } from "../../control/input.ts";
import type { Message } from "../../control/message.ts";
import { parseTaskNotification } from "../../../claude/transcript/task_notification.ts";
import type { Ending } from "../../control/effect.ts";

/** The turns of a run so far. */
export interface RunTurns {
  /** The totals of the turns before `recent`. */
  readonly past: TurnTotals;
  /** The turns after those of `past`, the oldest first. */
  readonly recent: readonly Turn[];
  /** The number of recent turns whose results have been emitted. */
  readonly printed: number;
}

/** Returns the turns of the run so far. The input of calls that succeeded is not kept. */
export function runTurns(state: OutputState): RunTurns {
  const { kept: { entries, past }, turnPrompts, failed, results } = state;
  const calls = new Map(listOf(failed).map((call) => [call.id, call]));
  const recent = splitTurns(listOf(entries), { begins: turnPrompts }).map((turn) => ({
    ...turn,
    toolUses: turn.toolUses.map((use) => calls.get(use.id) ?? knownCall(state, use.id) ?? use),
  }));
  return { past, recent, printed: results - past.count };
}

/** Returns the totals of all turns of a run. */
export function sumOf({ past, recent }: RunTurns): TurnTotals {
  return withTurns(past, recent);
}

/**
 * Adds the turns whose results have been emitted to the totals, and forgets them. The last of them stays, because
 * Claude Code may still write lines of it.
 *
 * @param run the turns before those results
 */
export function forgetReported(step: OutputStep, { past, recent }: RunTurns): void {
  const { kept, turnPrompts, failed, results } = step.state;
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
      gone: gone.reduce((all, id) => all.with(id), kept.gone),
    },
    turnPrompts: new Set([...turnPrompts].filter((id) => ids.has(id))),
    failed: chainOf(listOf(failed).filter(({ id }) => calls.has(id))),
  });
}

/** Returns the number of answers that safeguards stopped, including those of earlier children. */
export function safetyStopsOf({ options: { before } }: OutputState, turns: TurnTotals): number {
  return (before?.safetyStops ?? 0) + turns.refusals;
}

/** Returns the counts of the subagents of turns, including those of earlier children. */
export function subagentsOf(
  { subagentsBefore: before, taskEnds: ends }: OutputState,
  turns: TurnTotals,
  { stopped = 0 }: { readonly stopped?: number } = {},
): SubagentStats {
  return subagentStats(turns.subagents, { stopped, before, ends });
}

/** The end of a child. */
export interface ChildEnd {
  /** The exit; undefined if the child could not even be killed. */
  readonly exit: Exit | undefined;
  /** The files and facts that the child left. */
  readonly remains: ChildRemains;
  /** Whether this program has killed the child, because it did not end. */
  readonly isForced: boolean;
}

/**
 * An end that has to be reported: of a turn that the child outlived, or of the last turns, with the child's own end.
 */
export interface DueEnd {
  readonly end: TurnEnd;
  readonly child: ChildEnd | undefined;
}

/** The turns that end, and the known facts about them. */
export interface DueTurns {
  /** All turns of the run whose lines have been read, and the number of turns that were reported before. */
  readonly run: RunTurns;
  /** The totals of the turns, without the turns that the end of the run caused. */
  readonly sum: TurnTotals;
  /** The recent turns of the run; none if the turn that ends has no line. */
  readonly turns: readonly Turn[];
  /** The last of the recent turns; undefined where `turns` is empty. */
  readonly turn: Turn | undefined;
  /** Whether the end has no line: it is the end of a command, or of a turn that never began. */
  readonly isUnwritten: boolean;
  /** The message that the last turn answers. */
  readonly message: Message | undefined;
  /** The version of Claude Code; undefined if unknown. */
  readonly version: string | undefined;
}

/** Returns the turns that end. */
export function dueTurns(state: OutputState, { end: { ending }, child }: DueEnd): DueTurns {
  const { stop, unfinished = [] } = ending.kind === "answered" ? ending : {};
  const run = runTurns(state);
  const own = HALTS.includes(ending.kind) ? untilHalted(run) : run.recent;
  const written = stop === undefined || unfinished.length > 0 ? withoutStopped(own) : own;
  const isUnwritten = written.length <= run.printed &&
    (child === undefined || state.options.conversation === true);
  const turns = isUnwritten || ending.kind === "settled" ? [] : written;
  const turn = turns.at(-1);
  const { version } = ending.kind === "settled" && ending.message.settled.kind === "local"
    ? ending.message.settled
    : {};
  return {
    run,
    sum: withTurns(run.past, written),
    turns,
    turn,
    isUnwritten,
    message: state.taken[0] ?? state.awaited[0],
    version: turn?.version ?? state.version ?? child?.remains.version ?? version,
  };
}

/** Endings of turns that a hook of this program has stopped. */
const HALTS: readonly Ending["kind"][] = ["budget", "max-turns", "output-tries"];

/** Leaves out the turns that the child began after a hook of this program had stopped a turn at a limit. */
function untilHalted({ recent, printed }: RunTurns): readonly Turn[] {
  const place = recent.findIndex(({ halted }, at) => at >= printed && halted !== undefined);
  return place < 0 ? recent : recent.slice(0, place + 1);
}

/** Leaves out the turns that the end of the run caused: it stopped tasks, and the child reported this to the model. */
function withoutStopped(turns: readonly Turn[]): readonly Turn[] {
  const end = turns.findLastIndex(({ prompt }) =>
    parseTaskNotification(prompt?.message.content)?.status !== "killed"
  );
  return turns.slice(0, end + 1);
}
