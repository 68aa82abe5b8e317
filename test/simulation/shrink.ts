/** How many worlds are tried at most. */
const MOST_TRIES = 2000;

/**
 * Shrinks the choices of a world that fails, so that it still fails: leaves out as many as it can, from the longest runs of
 * them to single ones, and makes those that are left smaller.
 *
 * @param fails whether a world of these choices still fails
 */
export function shrink(
  choices: readonly number[],
  fails: (choices: readonly number[]) => boolean,
): readonly number[] {
  let best = choices;
  let tries = 0;
  const take = (candidate: readonly number[]): boolean => {
    if (tries++ >= MOST_TRIES || !fails(candidate)) return false;
    best = candidate;
    return true;
  };
  for (let before: readonly number[] = []; before !== best && tries < MOST_TRIES;) {
    before = best;
    for (let length = best.length; length >= 1; length = Math.floor(length / 2)) {
      for (let from = 0; from < best.length;) {
        if (!take(best.toSpliced(from, length))) from += length;
      }
    }
    for (let at = 0; at < best.length; at++) {
      const value = best[at] ?? 0;
      for (const smaller of [0, Math.floor(value / 2), value - 1]) {
        if (smaller >= 0 && smaller < value && take(best.with(at, smaller))) break;
      }
    }
  }
  return best;
}
