/** The maximum number of different findings. Nobody reads more, and a hostile file could cause any number. */
const MOST = 1000;
/** The maximum number of shown characters of a name. */
const LONGEST = 200;

/** Counts findings, and merges equal ones. */
export class Findings {
  readonly #all = new Map<string, Finding>();
  #left = 0;

  /** @param options.by what does not know it; this program by default */
  add(
    found: Drift,
    { place, by = THIS_PROGRAM, count = 1 }: {
      readonly place: Place;
      readonly by?: string;
      readonly count?: number;
    },
  ): void {
    const where = short(found.where);
    const what = short(found.what);
    const key = JSON.stringify([by, found.check, where, what]);
    const known = this.#all.get(key);
    if (known !== undefined) {
      this.#all.set(key, { ...known, count: known.count + count });
    } else if (this.#all.size < MOST) {
      this.#all.set(key, { by, check: found.check, where, what, count, first: place });
    } else {
      this.#left++;
    }
  }

  /** Counts findings that an SDK's check has not listed. */
  leave(count: number): void {
    this.#left += count;
  }

  /** The number of findings that are not listed. */
  get left(): number {
    return this.#left;
  }

  /** Returns all findings: those of this program first, then by check and name. */
  sorted(): readonly Finding[] {
    return [...this.#all.values()].toSorted((one, other) =>
      Number(one.by !== THIS_PROGRAM) - Number(other.by !== THIS_PROGRAM) ||
      compare(one.by, other.by) ||
      DRIFT_CHECKS.indexOf(one.check) - DRIFT_CHECKS.indexOf(other.check) ||
      compare(one.where, other.where) || compare(one.what, other.what)
    );
  }
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

function short(text: string): string {
  const characters = Array.from(text.slice(0, 2 * LONGEST + 2));
  return characters.length <= LONGEST ? text : `${characters.slice(0, LONGEST).join("")}…`;
}

/** The checks, in the order of a report. */
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

export type DriftCheck = (typeof DRIFT_CHECKS)[number];

/** A line of a file. */
export interface Place {
  readonly path: string;
  /** From 1; 0 for the whole file. */
  readonly line: number;
}

/** Something that differs from what is known of Claude Code. */
export interface Drift {
  readonly check: DriftCheck;
  /** In what it was found, such as `frame system/init`. */
  readonly where: string;
  /** A field, a type or a reason. */
  readonly what: string;
}

/** A difference, and how often it was found. */
export interface Finding extends Drift {
  /** What does not know it: this program, or an Agent SDK with its version. */
  readonly by: string;
  readonly count: number;
  /** Where it was found first. */
  readonly first: Place;
}

/** The value of `by` for checks of this program. */
const THIS_PROGRAM = "claude-print";
