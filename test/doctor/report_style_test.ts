import { assertEquals } from "@std/assert";
import { reportStyle } from "../../src/doctor/report_style.ts";

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
