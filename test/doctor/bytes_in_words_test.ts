import { assertEquals } from "@std/assert";
import { bytesInWords } from "../../src/doctor/bytes_in_words.ts";

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
