import type { SeenShell, ShellCall, ShellOrder, WaitedShell } from "../telling/known_shells.ts";

/** What is remembered of shells. */
export interface ShellMemory {
  /** Calls of shells that are waited for, by their ids. */
  readonly shells: ReadonlyMap<string, WaitedShell>;
  /** Calls whose output is told while they run, by their ids, and the shells that were seen, by theirs. */
  readonly shellCalls: ReadonlyMap<string, ShellCall>;
  readonly seenShells: ReadonlyMap<string, SeenShell>;
  /** What is to be done about shells since it was asked for last. */
  readonly shellOrders: readonly ShellOrder[];
}
