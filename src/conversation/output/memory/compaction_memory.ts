import type { Chain } from "../../../chain.ts";
import type { Entry } from "../../../claude/transcript/entry.ts";

/** A compaction that Claude Code has begun by itself, as hooks tell of it. */
export interface Compaction {
  /** When it began, in milliseconds since the epoch: what was written before is of that time at most. */
  readonly since: number;
  /** Whether its beginning has been printed. */
  readonly told: boolean;
  /** Whether it has succeeded; the lines that say so are yet to come. */
  readonly done: boolean;
  /** What the API said in the place of a summary. */
  readonly error?: string;
  /** Whether nobody waits any longer for why it failed, or for its summary. */
  readonly overdue?: boolean;
}

/** What is remembered of compactions, and of commands that Claude Code carries out as it does them. */
export interface CompactionMemory {
  /** Compactions whose outcome has not been told, the oldest first. */
  readonly compactions: readonly Compaction[];
  /** Whether a compaction has succeeded whose summary is yet to come, and the lines that have to wait for it. */
  readonly unsummed: boolean;
  readonly ahead: Chain<Entry> | undefined;
  /** Set once a command is known to be typed that Claude Code carries out; what its result says, once that is known. */
  readonly typed?: { readonly command: string; readonly result?: string };
  /** Ids of the lines that the last compaction left as they are, and whether they have been told. */
  readonly preserved: ReadonlyMap<string, boolean>;
}
