/** How many UTF-16 code units there are, and how many of them are ASCII. */
const UNITS = 0x10000;
const ASCII = 128;
/** States for which every transition by ASCII is laid down in advance: 16 MB of them at most. */
const LAID_DOWN = 32 * 1024;

/**
 * Knows some words and finds all of them in a text that it is given unit by unit (Aho and Corasick): it takes no longer
 * for many words than for one, however much they and the text look alike.
 *
 * A state is a number; 0 is the beginning.
 */
export class WordAutomaton {
  /** How often a transition was looked at; for a text, at most twice a unit. */
  steps = 0;
  readonly #next = new Map<number, number>();
  /** Of each state, the one that knows as much as possible of what came last, but less than all. */
  readonly #fallback: number[] = [0];
  /** Whether there is nothing but ASCII in the words: then any other unit leads to the beginning. */
  readonly #isAscii: boolean;
  /** Of each state, the next one for each ASCII character; empty where that would be too much. */
  readonly #ascii: Int32Array;
  /** Of each state, the index of the longest word that ends there; -1 for none. */
  readonly #ending: number[] = [-1];
  /** Of each state, how many units of a word have come. */
  readonly #depth: number[] = [0];

  constructor(words: readonly string[]) {
    this.#isAscii = words.every((word) => /^[\0-\x7f]*$/u.test(word));
    const most = words.reduce((sum, { length }) => sum + length, 1);
    const table = this.#ascii = new Int32Array(most > LAID_DOWN ? 0 : most * ASCII);
    const added: { readonly state: number; readonly from: number; readonly unit: number }[][] = [];
    for (const [index, word] of words.entries()) {
      let from = 0;
      for (let depth = 0; depth < word.length; depth++) {
        const unit = word.charCodeAt(depth);
        const isLaidDown = unit < ASCII && table.length > 0;
        const known = isLaidDown ? table[from * ASCII + unit] : this.#next.get(from * UNITS + unit);
        // Nothing leads to the beginning yet.
        const state = known || this.#ending.push(-1) - 1;
        if (state !== known) {
          this.#depth[state] = depth + 1;
          if (isLaidDown) table[from * ASCII + unit] = state;
          else this.#next.set(from * UNITS + unit, state);
          (added[depth] ??= []).push({ state, from, unit });
        }
        from = state;
      }
      this.#ending[from] = index;
    }
    // What a state falls back to is less deep, so all of it is known.
    for (const { state, from, unit } of added.flat()) {
      const fallback = from === 0 ? 0 : this.next(this.#fallback[from] as number, unit);
      this.#fallback[state] = fallback;
      if (this.#ending[state] === -1) this.#ending[state] = this.#ending[fallback] as number;
      if (table.length === 0) continue;
      for (let at = 0; at < ASCII; at++) {
        table[state * ASCII + at] ||= table[fallback * ASCII + at] as number;
      }
    }
    this.steps = 0;
  }

  /** The state after one more UTF-16 code unit. */
  next(state: number, unit: number): number {
    if (unit < ASCII && this.#ascii.length > 0) {
      this.steps++;
      return this.#ascii[state * ASCII + unit] as number;
    }
    if (unit >= ASCII && this.#isAscii) {
      this.steps++;
      return 0;
    }
    return this.#follow(state, unit);
  }

  #follow(state: number, unit: number): number {
    for (let from = state;; from = this.#fallback[from] as number) {
      this.steps++;
      const next = this.#next.get(from * UNITS + unit);
      if (next !== undefined) return next;
      if (from === 0) return 0;
    }
  }

  /** How many units of the beginning of a word, as many as possible, have come last in a state. */
  depthOf(state: number): number {
    return this.#depth[state] as number;
  }

  /** The index of the longest word that ends in a state; -1 for none. */
  wordAt(state: number): number {
    return this.#ending[state] as number;
  }
}
