/** Ids that follow from a seed: the same run told again has the same ones. */
export interface MadeIds {
  /** An id as those of frames are: a UUID of version 4. */
  readonly next: () => string;
  /** How many have been made of the seed so far. */
  readonly count: () => number;
}

/**
 * Makes ids of a seed, which nobody has to guess: they are names, not secrets.
 *
 * @param seed a UUID
 * @param made how many have been made of it before
 */
export function makeIds(seed: string, made: number): MadeIds {
  let words: readonly number[] | undefined;
  let count = made;
  return {
    next: () => {
      words ??= wordsOf(seed);
      const [a = 0, b = 0, c = 0, d = 0] = mixed(words, ++count);
      const [first, second, third, fourth] = [
        hexOf(a),
        hexOf(b & 0xffff0fff | 0x4000),
        hexOf(c & 0x3fffffff | 0x80000000),
        hexOf(d),
      ];
      return `${first}-${second.slice(0, 4)}-${second.slice(4)}-${third.slice(0, 4)}-${
        third.slice(4)
      }${fourth}`;
    },
    count: () => count,
  };
}

function wordsOf(seed: string): readonly number[] {
  const digits = seed.replaceAll("-", "");
  return [0, 8, 16, 24].map((at) => Number.parseInt(digits.slice(at, at + 8), 16) || 0);
}

function hexOf(word: number): string {
  return (word >>> 0).toString(16).padStart(8, "0");
}

/** Four words that differ in about half of their bits from those of any other count. */
function mixed(words: readonly number[], count: number): readonly number[] {
  let carried = count;
  const once = words.map((word, place) => carried = avalanche(word ^ carried ^ place * 0x9e3779b9));
  return once.map((word) => carried = avalanche(word ^ carried));
}

/** The finaliser of MurmurHash3: every bit of a word touches every other. */
function avalanche(word: number): number {
  let mixing = word ^ word >>> 16;
  mixing = Math.imul(mixing, 0x85ebca6b);
  mixing ^= mixing >>> 13;
  mixing = Math.imul(mixing, 0xc2b2ae35);
  return (mixing ^ mixing >>> 16) >>> 0;
}
