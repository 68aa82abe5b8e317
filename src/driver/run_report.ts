import type { ResultFrame } from "../wire/frame.ts";

/** What became of a run. */
export interface RunReport {
  readonly result: ResultFrame;
  readonly exitCode: number;
  /** A failure in one line and what to do about it; absent when the result says it all. */
  readonly problem?: { readonly message: string; readonly suggestion?: string };
  /** What the child's terminal showed last, where that explains a failure. */
  readonly screen?: readonly string[];
}
