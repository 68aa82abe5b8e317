import { type Chain, chained } from "../../../chain.ts";
import { type GrowingSet, growingSet } from "../../../growing_set.ts";
import { type Entry, isCompactionBoundary } from "../../../claude/transcript/entry.ts";
import { trimEntry } from "../../../claude/transcript/kept_entry.ts";
import {
  addToNotes,
  NO_NOTES,
  type SessionNotes,
} from "../../../claude/transcript/session_listing.ts";
import { type Cost, readCostOfEntries } from "../../../claude/transcript/cost.ts";
import { NO_TURNS, type TurnTotals } from "../result/turn_totals.ts";

/** A summary is requested only of a conversation with at least so many answers. */
export const FEWEST_ANSWERS = 2;

/** What is kept of emitted lines: only lines of the last turns, however many turns there were. */
export interface KeptLines {
  /**
   * The lines of the last turn whose result has been emitted, as more of them may still be written, and all later lines;
   * without lines that only describe the session.
   */
  readonly entries: Chain<Entry> | undefined;
  /** The totals of the turns before that. */
  readonly past: TurnTotals;
  /** What all lines, those of earlier runs included, show of the session. */
  readonly notes: SessionNotes;
  /** Ids of the first `FEWEST_ANSWERS` answers since the last compaction, those of earlier runs included. */
  readonly answers: ReadonlySet<string>;
  /** The cost that the child has written at its end. */
  readonly cost: Cost | undefined;
  /** The ids of lines of this run that are not kept any more. */
  readonly gone: GrowingSet<string>;
}

/**
 * Returns the state before the first line of a run.
 *
 * @param earlier the lines of earlier runs of its session
 */
export function noLines(earlier: readonly Entry[] = []): KeptLines {
  return {
    entries: undefined,
    past: NO_TURNS,
    notes: earlier.reduce((notes, entry) => addToNotes(notes, entry, { earlier: true }), NO_NOTES),
    answers: earlier.reduce(answersAfter, new Set<string>()),
    cost: undefined,
    gone: growingSet(),
  };
}

/** Adds what is needed of a line after it has been emitted. */
export function withKept(before: KeptLines, entry: Entry): KeptLines {
  const { entries, notes, answers, cost } = before;
  return {
    ...before,
    entries: entry.type === "other" ? entries : chained(entries, trimEntry(entry)),
    notes: addToNotes(notes, entry),
    answers: answersAfter(answers, entry),
    cost: readCostOfEntries([entry]) ?? cost,
  };
}

function answersAfter(answers: KeptLines["answers"], entry: Entry): KeptLines["answers"] {
  if (isCompactionBoundary(entry)) return new Set();
  return entry.type !== "assistant" || answers.size >= FEWEST_ANSWERS
    ? answers
    : new Set([...answers, entry.message.id]);
}
