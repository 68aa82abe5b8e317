import { assertEquals } from "@std/assert";
import * as fc from "fast-check";
import { summedUsage } from "../../src/transcript/summed_usage.ts";

Deno.test("summedUsage: adds counts at every depth and keeps the last of everything else", () => {
  assertEquals(
    summedUsage([
      {
        input_tokens: 1,
        cache: { short: 2 },
        service_tier: "a",
        speed: "s",
        list: [1],
        unknown: 3,
      },
      { input_tokens: 4, cache: { short: 5, long: 6 }, service_tier: "b", speed: null, list: [] },
    ]),
    {
      input_tokens: 5,
      cache: { short: 7, long: 6 },
      service_tier: "b",
      speed: "s",
      list: [],
      unknown: 3,
    },
  );
});

Deno.test("summedUsage: of one usage is that usage", () => {
  const usage = fc.dictionary(fc.string(), fc.oneof(fc.nat(), fc.string(), fc.constant(null)));
  fc.assert(fc.property(usage, (one) => assertEquals(summedUsage([one]), { ...one })));
});

Deno.test("summedUsage: adds counts in any order", () => {
  const usages = fc.array(fc.dictionary(fc.constantFrom("a", "b", "c"), fc.nat(1000)));
  fc.assert(fc.property(usages, (all) => {
    const sorted = (sum: object) => Object.entries(sum).sort();
    assertEquals(sorted(summedUsage(all)), sorted(summedUsage(all.toReversed())));
  }));
});
