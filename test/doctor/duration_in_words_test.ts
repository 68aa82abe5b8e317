import { assertEquals } from "@std/assert";
import { durationInWords } from "../../src/doctor/duration_in_words.ts";

Deno.test("durationInWords() takes the largest unit that it makes two of", () => {
  const SECOND = 1000;
  const HOUR = 3600 * SECOND;
  const cases: readonly (readonly [number, string])[] = [
    [0, "0 s"],
    [1999, "1 s"],
    [119 * SECOND, "119 s"],
    [120 * SECOND, "2 min"],
    [2 * HOUR - 1, "119 min"],
    [2 * HOUR, "2 h"],
    [48 * HOUR - 1, "47 h"],
    [48 * HOUR, "2 days"],
    [365 * 24 * HOUR, "365 days"],
  ];
  for (const [ms, words] of cases) assertEquals(durationInWords(ms), words);
});
