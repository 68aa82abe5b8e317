import { assertEquals } from "@std/assert";
import { resetTime } from "../../../src/frames/result/reset_time.ts";

const NOW = Date.UTC(2026, 10, 23, 1, 9, 30);
const at = (...parts: [number, number, number, number, number]) =>
  Date.UTC(parts[0], parts[1] - 1, parts[2], parts[3], parts[4]) / 1000;

Deno.test("resetTime() reads the times that Claude Code writes, as the next of their kind", () => {
  for (
    const [words, expected] of [
      ["2:09am (UTC)", at(2026, 11, 23, 2, 9)],
      ["2am (UTC)", at(2026, 11, 23, 2, 0)],
      ["1:09am (UTC)", at(2026, 11, 23, 1, 9)],
      ["1:08am (UTC)", at(2026, 11, 24, 1, 8)],
      ["12am (UTC)", at(2026, 11, 24, 0, 0)],
      ["12:30pm (UTC)", at(2026, 11, 23, 12, 30)],
      ["11\u202fpm (UTC)", at(2026, 11, 23, 23, 0)],
      ["3am (Europe/Berlin)", at(2026, 11, 23, 2, 0)],
      ["9pm (America/New_York)", at(2026, 11, 23, 2, 0)],
      ["Nov 25, 2:09am (UTC)", at(2026, 11, 25, 2, 9)],
      ["Nov 25 at 2am (Asia/Kolkata)", at(2026, 11, 24, 20, 30)],
      ["Jan 2, 2027, 5pm (UTC)", at(2027, 1, 2, 17, 0)],
    ] as const
  ) assertEquals(resetTime(words, NOW), expected, words);
});

Deno.test("resetTime() takes the hour of the season that the time is in", () => {
  assertEquals(
    resetTime("Jul 1, 2027, 12pm (Europe/Berlin)", NOW),
    at(2027, 7, 1, 10, 0),
  );
});

Deno.test("resetTime() makes nothing of what is no such time", () => {
  for (
    const words of [
      "",
      "soon",
      "25:00 (UTC)",
      "13pm (UTC)",
      "2:99am (UTC)",
      "Foo 3, 2am (UTC)",
      "2am (Nowhere/Else)",
      "2am",
      "2am (UTC) 3am (UTC)",
    ]
  ) assertEquals(resetTime(words, NOW), undefined, words);
});
