import { DRIFT_CHECKS, type Finding, type Found, type Place, THIS_PROGRAM } from "./finding.ts";

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
    found: Found,
    { place, by = THIS_PROGRAM, count = 1 }: {
      readonly place: Place;
      readonly by?: string;
      readonly count?: number;
    },
  ): void {
    const where = short(found.where);
    const what = short(found.what);
    // Findings are sorted by it: by who does not know them, by check and by name.
    const key = [Number(by !== THIS_PROGRAM), by, DRIFT_CHECKS.indexOf(found.check), where, what]
      .join("\0");
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

  /** All of them: first those of this program, by check and by name. */
  sorted(): readonly Finding[] {
    return [...this.#all.keys()].toSorted().flatMap((key) => this.#all.get(key) ?? []);
  }
}

function short(text: string): string {
  const characters = Array.from(text.slice(0, 2 * LONGEST + 2));
  return characters.length <= LONGEST ? text : `${characters.slice(0, LONGEST).join("")}…`;
}
