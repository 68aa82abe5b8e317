/** The number of UTF-16 code units, and the number of ASCII characters. */
const UNITS = 0x10000;
const ASCII = 128;
/** The maximum number of states with a transition table. A larger table would need more than 16 MB. */
const LAID_DOWN = 32 * 1024;

/**
 * Finds all words of a list in a text that is passed unit by unit (Aho and Corasick). The time does not depend on the
 * number of words, nor on the similarity of words and text.
 *
 * A state is a number; 0 is the initial state.
 */
export class WordAutomaton {
  /** The number of examined transitions: at most two for each unit of a text. */
  steps = 0;
  readonly #next = new Map<number, number>();
  /** For each state, the state of the longest proper suffix of its prefix. */
  readonly #fallback: number[] = [0];
  /** True if all words are ASCII. Then any other unit leads to the initial state. */
  readonly #isAscii: boolean;
  /** For each state and ASCII character, the next state; empty if the table would be too large. */
  readonly #ascii: Int32Array;
  /** For each state, the index of the longest word that ends there; -1 for none. */
  readonly #ending: number[] = [-1];
  /** For each state, the length of its prefix. */
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
        // No transition leads to the initial state yet, so 0 means none.
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
    // A fallback is less deep, so it is complete already.
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

  /** Returns the state after one more UTF-16 code unit. */
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

  /** Returns the length of the longest word prefix at the end of the text. */
  depthOf(state: number): number {
    return this.#depth[state] as number;
  }

  /** Returns the index of the longest word that ends in a state; -1 for none. */
  wordAt(state: number): number {
    return this.#ending[state] as number;
  }
}
