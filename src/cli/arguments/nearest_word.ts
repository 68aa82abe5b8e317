/**
 * Returns the word that `typed` most likely misspells, or undefined if none is close: a word with few differing characters,
 * or else the first that begins with it. Case and leading dashes do not count.
 */
export function nearestWord(typed: string, words: readonly string[]): string | undefined {
  const given = bare(typed);
  let nearest: string | undefined;
  let least = Math.max(1, Math.floor(given.length / 3)) + 1;
  if (given.length < 2) return undefined;
  for (const word of words) {
    const distance = editDistance(given, bare(word));
    if (distance < least) [nearest, least] = [word, distance];
  }
  return nearest ?? words.find((word) => given.length > 2 && bare(word).startsWith(given));
}

function bare(word: string): string {
  return word.replace(/^-+/u, "").toLowerCase();
}

/** The maximum number of characters that are compared. No flag, command or key is as long. */
const MAX_LENGTH = 64;

/** Counts the characters to insert, delete, replace, or swap with their neighbour (optimal string alignment). */
function editDistance(one: string, other: string): number {
  if (one.length > MAX_LENGTH || other.length > MAX_LENGTH) return Infinity;
  const rows: number[][] = [Array.from({ length: other.length + 1 }, (_, column) => column)];
  const at = (row: number, column: number) => rows[row]?.[column] ?? Infinity;
  for (let row = 1; row <= one.length; row++) {
    rows.push([row]);
    for (let column = 1; column <= other.length; column++) {
      const isSame = one[row - 1] === other[column - 1];
      const isSwapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      rows[row]?.push(Math.min(
        at(row - 1, column) + 1,
        at(row, column - 1) + 1,
        at(row - 1, column - 1) + (isSame ? 0 : 1),
        isSwapped ? at(row - 2, column - 2) + 1 : Infinity,
      ));
    }
  }
  return at(one.length, other.length);
}

/**
 * Returns the flag that `typed` most likely misspells. A short flag that does not exist may mean a long one with the
 * same first letter, such as `-m` for `--model`.
 *
 * @param options.byLetter the long flags to which a letter may lead, the most likely first
 */
export function nearestFlag(
  typed: string,
  names: readonly string[],
  { byLetter }: { readonly byLetter: readonly string[] },
): string | undefined {
  const name = typed.replace(/=.*$/su, "");
  const [, letter] = /^-([a-z])/iu.exec(name) ?? [];
  const lower = name.toLowerCase();
  const nearest = names.includes(lower) ? lower : nearestWord(name, names);
  if (nearest !== undefined || letter === undefined) return nearest;
  return byLetter.find((long) => long.startsWith(`--${letter.toLowerCase()}`));
}
