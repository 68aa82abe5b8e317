import { assert, assertEquals } from "@std/assert";
import { findBoundary, type Verdict } from "../../../src/commands/bisect/search.ts";

/** Searches verdicts such as "ggsb", a letter a version, and counts the tests. */
async function search(letters: string) {
  const tested: number[] = [];
  const found = await findBoundary(letters.length, (index): Promise<Verdict> => {
    tested.push(index);
    const verdicts: Record<string, Verdict> = { g: "good", b: "bad", s: "skipped" };
    return Promise.resolve(verdicts[letters[index] ?? ""] ?? "skipped");
  });
  return { ...found, tested };
}

Deno.test("every boundary is found with few tests", async () => {
  for (let good = 1; good < 60; good++) {
    const { lastGood, firstBad, undecided, tested } = await search(
      "g".repeat(good) + "b".repeat(60 - good),
    );
    assertEquals([lastGood, firstBad, undecided], [good - 1, good, []]);
    assert(tested.length <= 6, `${tested.length} tests`);
    assertEquals(new Set(tested).size, tested.length);
    assert(!tested.includes(0) && !tested.includes(59), "the ends are known");
  }
});

Deno.test("two versions need no test", async () => {
  assertEquals(await search("gb"), { lastGood: 0, firstBad: 1, undecided: [], tested: [] });
});

Deno.test("versions that cannot be tested are passed over", async () => {
  const { lastGood, firstBad, undecided } = await search("gggsssgbb");
  assertEquals([lastGood, firstBad, undecided], [6, 7, []]);
});

Deno.test("untestable versions at the boundary stay undecided", async () => {
  const { lastGood, firstBad, undecided } = await search("ggssbb");
  assertEquals([lastGood, firstBad, undecided], [1, 4, [2, 3]]);
  assertEquals((await search("gsssb")).undecided, [1, 2, 3]);
});

Deno.test("with several changes one of them is found", async () => {
  for (const letters of ["gbgbgbgb", "ggbbggbb", "gbbbbbgb"]) {
    const { lastGood, firstBad } = await search(letters);
    assertEquals([letters[lastGood], letters[firstBad]], ["g", "b"]);
    assertEquals(firstBad, lastGood + 1);
  }
});
