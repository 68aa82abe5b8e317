import { assertEquals } from "@std/assert";
import * as fc from "fast-check";
import { growingSet } from "../src/growing_set.ts";

/** An item is added to one of the sets so far, by its place among them. */
const STEP = fc.record({ of: fc.nat(), item: fc.integer({ min: 0, max: 5 }) });

Deno.test("a growing set equals a copy, however it grows", () => {
  fc.assert(fc.property(fc.array(STEP), (steps) => {
    const sets = [{ grown: growingSet<number>(), copied: new Set<number>() }];
    for (const { of, item } of steps) {
      const from = sets[of % sets.length];
      if (from === undefined) continue;
      sets.push({ grown: from.grown.with(item), copied: new Set([...from.copied, item]) });
    }
    for (const { grown, copied } of sets) {
      for (let item = 0; item <= 5; item++) assertEquals(grown.has(item), copied.has(item));
    }
  }));
});
