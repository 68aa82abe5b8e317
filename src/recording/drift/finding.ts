/** What is looked for. */
export const DRIFT_CHECKS = [
  "frame rejected",
  "type unknown",
  "block dropped",
  "field new",
  "field gone",
  "dialog unknown",
  "probe unknown",
  "hook event new",
  "answered otherwise",
] as const;

/** One of these. */
export type DriftCheck = (typeof DRIFT_CHECKS)[number];

/** A line of a file. */
export interface Place {
  readonly path: string;
  /** From 1 on; 0 for the file as a whole. */
  readonly line: number;
}

/** Something that is not as it is known. */
export interface Found {
  readonly check: DriftCheck;
  /** In what it was found, such as `frame system/init`. */
  readonly where: string;
  /** What it is: a field, a type, a reason. */
  readonly what: string;
}

/** The same thing, as often as it was found. */
export interface Finding extends Found {
  /** Who does not know it: this program, or an Agent SDK with its version. */
  readonly by: string;
  readonly count: number;
  /** Where it was found first. */
  readonly first: Place;
}

/** Who knows what this program knows. */
export const THIS_PROGRAM = "claude-print";
