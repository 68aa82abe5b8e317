/** What a test of a version has found; "skipped" if it could not be tested. */
export type Verdict = "good" | "bad" | "skipped";

/** Where versions become bad, by their indexes. */
export interface Boundary {
  readonly lastGood: number;
  readonly firstBad: number;
  /** The versions between these two, none of which could be tested. */
  readonly undecided: readonly number[];
}

/**
 * Finds where versions become bad, by a binary search. Where they become bad and good again several times, it finds one of
 * the places where a good version is followed by a bad one.
 *
 * @param count how many versions there are; the first one is good and the last one is bad
 * @param test tests a version, each at most once
 */
export async function findBoundary(
  count: number,
  test: (index: number) => Promise<Verdict>,
): Promise<Boundary> {
  let [lastGood, firstBad] = [0, count - 1];
  const skipped = new Set<number>();
  for (;;) {
    const between = Array.from({ length: firstBad - lastGood - 1 }, (_, at) => lastGood + 1 + at);
    const next = nearest((lastGood + firstBad) / 2, between.filter((each) => !skipped.has(each)));
    if (next === undefined) return { lastGood, firstBad, undecided: between };
    const verdict = await test(next);
    if (verdict === "good") lastGood = next;
    else if (verdict === "bad") firstBad = next;
    else skipped.add(next);
  }
}

function nearest(middle: number, numbers: readonly number[]): number | undefined {
  return numbers.toSorted((one, other) => Math.abs(one - middle) - Math.abs(other - middle))[0];
}
