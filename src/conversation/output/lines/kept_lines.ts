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

/** The minimum number of answers for which Claude Code requests a summary. */
export const FEWEST_ANSWERS = 2;

/**
 * The data kept of emitted lines. It holds only lines of the last turns, so its size does not grow with the number of
 * turns.
 */
export interface KeptLines {
  /**
   * The lines of the last turn whose result has been emitted, and all later lines. Claude Code may still write lines of
   * that turn. Lines that only describe the session are left out.
   */
  readonly entries: Chain<Entry> | undefined;
  /** The totals of the turns before those of `entries`. */
  readonly past: TurnTotals;
  /** What all lines, including those of earlier runs, show of the session. */
  readonly notes: SessionNotes;
  /** Ids of the first `FEWEST_ANSWERS` answers since the last compaction, including those of earlier runs. */
  readonly answers: ReadonlySet<string>;
  /** The cost that the child has written at its end. */
  readonly cost: Cost | undefined;
  /** The ids of lines of this run that are no longer kept. */
  readonly gone: GrowingSet<string>;
}

/**
 * Returns the state before the first line of a run.
 *
 * @param earlier the lines of earlier runs of the session
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

/** Adds a line after it has been emitted. */
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
