import type { Cost, Spent } from "../../../claude/transcript/turn/cost.ts";
import type { KnownLimits } from "../../../claude/wire/claude_limits.ts";

/** What is remembered of money and limits. */
export interface SpendingMemory {
  /** What models had used when a result told it last; undefined where that is not known. */
  readonly usageTold: Cost["modelUsage"] | undefined;
  /** What was paid before this child, as far as it does not count it itself. */
  readonly paid?: Spent;
  /** What the conversation has cost, as the child's status line told last. */
  readonly cost?: Spent;
  /** When that status line ran, in milliseconds since the epoch, as far as the file system tells. */
  readonly pricedAt?: number | undefined;
  /** The end of a turn whose result waits for what it has cost, and how many turns there were by then. */
  readonly unpriced?: { readonly at: number; readonly turns: number } | undefined;
  /** What it had cost when the turn began, in US dollars, as far as that was told. */
  readonly paidBefore?: number | undefined;
  /** When it was known to cost as much as it may, in milliseconds since the epoch; undefined as long as it does not. */
  readonly overspentAt?: number | undefined;
  /** What the status line has told of limits last. */
  readonly limits?: KnownLimits;
}
