/** How many different findings are told apart: a person reads no more, and a file may hold any number. */
const MOST = 1000;
/** Most characters of a name that is told. */
const LONGEST = 200;

/** Counts what is found: the same thing is told once. */
export class Findings {
  readonly #all = new Map<string, Finding>();
  #left = 0;

  /** @param options.by who does not know it; this program, if absent */
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

  /** Counts what somebody else has not told apart. */
  leave(count: number): void {
    this.#left += count;
  }

  /** How many more there were than are told apart. */
  get left(): number {
    return this.#left;
  }

  /** All of them, by who does not know them, by check and by name. */
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
export interface Drift {
  readonly check: DriftCheck;
  /** In what it was found, such as `frame system/init`. */
  readonly where: string;
  /** What it is: a field, a type, a reason. */
  readonly what: string;
}

/** The same thing, as often as it was found. */
export interface Finding extends Drift {
  /** Who does not know it: this program, or an Agent SDK with its version. */
  readonly by: string;
  readonly count: number;
  /** Where it was found first. */
  readonly first: Place;
}

/** Who knows what this program knows. */
const THIS_PROGRAM = "claude-print";
