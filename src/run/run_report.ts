import type { Report } from "../frames/report.ts";
import type { Frame } from "../wire/frame.ts";

/** What became of a run, and what is left to print. */
export interface RunReport extends Report {
  /** The frames that were said at the run's end: its last results are among them. */
  readonly unprinted: readonly Frame[];
  /** What the child's terminal showed last, where that explains a failure, and with every failure of a traced run. */
  readonly screen?: readonly string[];
}
