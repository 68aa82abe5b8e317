import type { FoundSessions } from "./find_sessions.ts";
import type { RunFacts } from "./read_facts.ts";

/** What is known when a run is planned: of the world, and of its private folder, which is made and empty. */
export interface PlanFacts extends RunFacts {
  /** Sessions that were looked for, once what killed runs had left was at home. */
  readonly found: FoundSessions;
  /** Path of the private folder. */
  readonly folder: string;
  /** The folders of runs in all places, that of this run among them. */
  readonly runs: readonly string[];
  /** What nobody but the run's hooks and its child is to know. */
  readonly secret: string;
  /** The time, in milliseconds since the epoch. */
  readonly now: number;
}
