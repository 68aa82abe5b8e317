import { assert, assertEquals } from "@std/assert";
import type { Check } from "../../src/doctor/check.ts";
import { renderCheck, reportStyle } from "../../src/doctor/render_check.ts";

const PLAIN = { unicode: true, colour: false, columns: Infinity };
const GOOD: Check = { name: "pty", ok: true, detail: "a shell ran", data: {} };
const BAD: Check = { ...GOOD, ok: false, detail: "no shell ran", suggestion: "Install one" };
const SKIPPED: Check = { ...GOOD, skipped: true, detail: "needs libc" };

Deno.test("renderCheck() marks what is well, what is not, and what was not looked at", () => {
  assertEquals(renderCheck(GOOD, PLAIN), "✓ pty        a shell ran\n");
  assertEquals(
    renderCheck(BAD, PLAIN),
    "✗ pty        no shell ran\n             Install one\n",
  );
  assertEquals(renderCheck(SKIPPED, PLAIN), "- pty        needs libc\n");
});

Deno.test("renderCheck() without UTF-8 has words for marks", () => {
  const style = { ...PLAIN, unicode: false };
  assertEquals(renderCheck(GOOD, style), "ok   pty        a shell ran\n");
  assertEquals(
    renderCheck(BAD, style),
    "FAIL pty        no shell ran\n                Install one\n",
  );
  assertEquals(renderCheck(SKIPPED, style), "skip pty        needs libc\n");
});

Deno.test("renderCheck() colours only the mark", () => {
  const style = { ...PLAIN, colour: true };
  assertEquals(renderCheck(GOOD, style), "\x1b[32m✓\x1b[m pty        a shell ran\n");
  assertEquals(renderCheck(SKIPPED, style), "\x1b[2m-\x1b[m pty        needs libc\n");
});

Deno.test("renderCheck() keeps to the width of the terminal, and breaks no word", () => {
  const detail = "one two three four five /a/path/that/is/longer/than/the/line six";
  const lines = renderCheck({ ...BAD, detail }, { ...PLAIN, columns: 30 }).split("\n");
  assertEquals(lines, [
    "✗ pty        one two three",
    "             four five",
    "             /a/path/that/is/longer/than/the/line",
    "             six",
    "             Install one",
    "",
  ]);
});

Deno.test("renderCheck() shows no control characters", () => {
  const detail = "a\x1b]0;title\x07b\r\nc\u202ed\x9bH";
  const text = renderCheck({ ...GOOD, detail }, PLAIN);
  assert(!/(?!\n)[\p{Cc}\p{Cf}]/u.test(text), JSON.stringify(text));
  const named = renderCheck(
    { ...GOOD, detail: "in /tmp/\u3164\u2800\ufe0f\u{e0100}\u00a0x" },
    PLAIN,
  );
  assertEquals(
    named,
    "✓ pty        in /tmp/<U+3164><U+2800><U+FE0F><U+E0100><U+00A0>x\n",
  );
});

Deno.test("reportStyle() takes the first locale variable that is not empty", () => {
  const unicode = (env: Record<string, string>) => reportStyle({ env, columns: undefined }).unicode;
  assertEquals(unicode({ LANG: "C.UTF-8" }), true);
  assertEquals(unicode({ LANG: "en_GB.utf8", LC_CTYPE: "", LC_ALL: "" }), true);
  assertEquals(unicode({ LANG: "en_GB.UTF-8", LC_CTYPE: "C" }), false);
  assertEquals(unicode({ LANG: "C", LC_CTYPE: "C", LC_ALL: "de_DE.UTF-8" }), true);
  assertEquals(unicode({}), false);
});

Deno.test("reportStyle() has colour on a terminal, unless it is not wanted", () => {
  const colour = (columns: number | undefined, env: Record<string, string> = {}) =>
    reportStyle({ env, columns }).colour;
  assertEquals(colour(80), true);
  assertEquals(colour(undefined), false);
  assertEquals(colour(80, { NO_COLOR: "1" }), false);
  assertEquals(colour(80, { NO_COLOR: "" }), true);
  assertEquals(colour(80, { TERM: "dumb" }), false);
});

Deno.test("reportStyle() knows the width of a terminal, and of nothing else", () => {
  assertEquals(reportStyle({ env: {}, columns: 80 }).columns, 80);
  assertEquals(reportStyle({ env: {}, columns: undefined }).columns, Infinity);
});
