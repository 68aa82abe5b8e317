import type { Exit } from "../input.ts";

/** What is remembered of the child's end: of how it is told to go, and whether it has. */
export interface EndMemory {
  /** How often the child has been told to go, reminders apart. */
  readonly kills: number;
  /**
   * How much longer the child may take to go after the next reminder, in milliseconds; below zero once it takes longer
   * because its turn is not on record.
   */
  readonly exitLeftMs: number;
  /** The SessionEnd hook that keeps the child until its transcript holds the last turn, until it is answered. */
  readonly endHook?: string | undefined;
  readonly exit?: Exit;
}

/** Nobody has told the child to go. */
export const NO_END: EndMemory = { kills: 0, exitLeftMs: 0 };
