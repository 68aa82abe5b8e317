import { type Chain, chained } from "../../../chain.ts";
import { type GrowingMap, growingMap } from "../../../growing_map.ts";
import { type Entry, isBoundary } from "../../../claude/transcript/entry.ts";
import { keptEntry } from "../../../claude/transcript/kept_entry.ts";
import {
  NO_NOTES,
  type SessionNotes,
  withNoted,
} from "../../../claude/transcript/session_listing.ts";
import { type Cost, costOfEntries } from "../../../claude/transcript/cost.ts";
import { NO_TURNS, type TurnTotals } from "../result/turn_totals.ts";

/** How many answers there are at least where a request for a summary is made. */
export const FEWEST_ANSWERS = 2;

/** What is kept of the lines that have been told: however many turns there were, those of the last ones alone. */
export interface KeptLines {
  /**
   * Those of the last turn whose result has been told, of which some may still be written, and all after them; what they
   * say of the session alone is not among them.
   */
  readonly entries: Chain<Entry> | undefined;
  /** What the turns before that come to. */
  readonly past: TurnTotals;
  /** What all of them, and those of earlier runs, have said of the session. */
  readonly notes: SessionNotes;
  /** Ids of answers since the conversation was compacted last, in earlier runs too: of more than are asked for, the first. */
  readonly answers: ReadonlySet<string>;
  /** What the child has noted at its end that it has cost. */
  readonly cost: Cost | undefined;
  /** The ids of lines of this run that are not kept any more. */
  readonly gone: GrowingMap<string, true>;
}

/**
 * Before the first line of a run.
 *
 * @param earlier the lines of earlier runs of its session
 */
export function noLines(earlier: readonly Entry[] = []): KeptLines {
  return {
    entries: undefined,
    past: NO_TURNS,
    notes: earlier.reduce((notes, entry) => withNoted(notes, entry, { earlier: true }), NO_NOTES),
    answers: earlier.reduce(answersAfter, new Set<string>()),
    cost: undefined,
    gone: growingMap(),
  };
}

/** Keeps of a line what is still asked of it once it has been told. */
export function withKept(before: KeptLines, entry: Entry): KeptLines {
  const { entries, notes, answers, cost } = before;
  return {
    ...before,
    entries: entry.type === "other" ? entries : chained(entries, keptEntry(entry)),
    notes: withNoted(notes, entry),
    answers: answersAfter(answers, entry),
    cost: costOfEntries([entry]) ?? cost,
  };
}

function answersAfter(answers: KeptLines["answers"], entry: Entry): KeptLines["answers"] {
  if (isBoundary(entry)) return new Set();
  return entry.type !== "assistant" || answers.size >= FEWEST_ANSWERS
    ? answers
    : new Set([...answers, entry.message.id]);
}
