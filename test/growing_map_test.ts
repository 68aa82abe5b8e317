import { assertEquals } from "@std/assert";
import * as fc from "fast-check";
import { type GrowingMap, growingMap } from "../src/growing_map.ts";

/** Something is done to one of the maps so far, by its place among them. */
const STEP = fc.record({
  of: fc.nat(),
  key: fc.integer({ min: 0, max: 5 }),
  value: fc.option(fc.integer({ min: 0, max: 2 }), { nil: undefined }),
});

Deno.test("a growing map equals a copy, however it grows", () => {
  fc.assert(fc.property(fc.array(STEP), (steps) => {
    const maps = [{ grown: growingMap<number, number>(), copied: new Map<number, number>() }];
    for (const { of, key, value } of steps) {
      const from = maps[of % maps.length];
      if (from === undefined) continue;
      const copied = new Map(from.copied);
      if (value === undefined) copied.delete(key);
      else copied.set(key, value);
      const grown = value === undefined ? from.grown.without(key) : from.grown.with(key, value);
      maps.push({ grown, copied });
    }
    for (const { grown, copied } of maps) {
      assertEquals(grown.values(), [...copied.values()]);
      assertEquals(grown.size, copied.size);
      for (let key = 0; key <= 5; key++) {
        assertEquals([grown.has(key), grown.get(key)], [copied.has(key), copied.get(key)]);
      }
    }
  }));
});

Deno.test("a growing map keeps its first entries and its identity", () => {
  const map: GrowingMap<string, number> = growingMap([["a", 1], ["b", 2], ["a", 3]]);
  assertEquals([map.size, map.get("a"), map.values()], [2, 3, [3, 2]]);
  assertEquals(map.with("b", 2) === map, true);
});
