import type { ResultFrame } from "../wire/frame.ts";

/** What became of a run. */
export interface RunReport {
  /** The result of the last turn. */
  readonly result: ResultFrame;
  /** The results that have not been printed yet, oldest first. */
  readonly unprinted: readonly ResultFrame[];
  readonly exitCode: number;
  /** A failure in one line and what to do about it; absent when the result says it all. */
  readonly problem?: { readonly message: string; readonly suggestion?: string };
  /** What the user should know of a run that did not fail, in one line. */
  readonly warning?: string;
  /** What the child's terminal showed last, where that explains a failure, and with every failure of a traced run. */
  readonly screen?: readonly string[];
}
