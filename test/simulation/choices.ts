/** How many different values one draw can have at most. */
const LARGEST = 0x1_0000_0000;

/**
 * The choices of a simulated world, each a number of which 0 is the simplest: drawn from a seed, or given again.
 *
 * A world that is given the choices of another one is the same. One that is given fewer, or smaller ones, is a simpler
 * world that is still possible: that is how a failure is shrunk.
 */
export class Choices {
  /** What has been chosen so far. */
  readonly made: number[] = [];
  readonly #given: readonly number[] | undefined;
  #state: number;

  /** @param source a seed, or the choices of another world, after which all are 0 */
  constructor(source: number | readonly number[]) {
    this.#given = typeof source === "number" ? undefined : source;
    this.#state = typeof source === "number" ? Math.imul(source, 0x9e37_79b1) >>> 0 : 0;
  }

  /** Chooses a whole number that is at least 0 and less than a bound. */
  below(bound: number): number {
    const drawn = this.#given === undefined
      ? Math.floor(this.#next() / LARGEST * bound)
      : Math.min(this.#given[this.made.length] ?? 0, bound - 1);
    this.made.push(drawn);
    return drawn;
  }

  /** Chooses whether something happens that happens so many times in a thousand, which is not the simplest. */
  happens(perMille: number): boolean {
    return this.below(1000) >= 1000 - perMille;
  }

  /** Chooses one of several, the first of which is the simplest. */
  pick<Option>(options: readonly [Option, ...Option[]]): Option {
    return options[this.below(options.length)] ?? options[0];
  }

  /** Chooses a time in whole milliseconds, the least of which is the simplest. */
  between([least, most]: readonly [number, number]): number {
    return least + this.below(most - least + 1);
  }

  /** The next number of the generator splitmix32, below 2 to the power of 32. */
  #next(): number {
    this.#state = (this.#state + 0x9e37_79b9) >>> 0;
    let mixed = this.#state ^ (this.#state >>> 16);
    mixed = Math.imul(mixed, 0x21f0_aaad);
    mixed ^= mixed >>> 15;
    mixed = Math.imul(mixed, 0x735a_2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  }
}
