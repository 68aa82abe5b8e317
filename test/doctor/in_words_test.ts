import { assertEquals } from "@std/assert";
import { bytesInWords, durationInWords } from "../../src/doctor/in_words.ts";

Deno.test("bytesInWords() takes the largest unit of which there is one", () => {
  const cases: readonly (readonly [number, string])[] = [
    [0, "0 B"],
    [999, "999 B"],
    [1000, "1.0 kB"],
    [61_440, "61.4 kB"],
    [83_151_437_824, "83.2 GB"],
    [5e12, "5.0 TB"],
    [5e15, "5000.0 TB"],
  ];
  for (const [bytes, words] of cases) assertEquals(bytesInWords(bytes), words);
});

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
