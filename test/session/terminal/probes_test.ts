import { assertEquals } from "@std/assert";
import { answerProbes, PROBES } from "../../../src/session/terminal/probes.ts";
import { SCANNER_START, scanTerminal } from "../../../src/session/terminal/terminal_scanner.ts";

const size = { rows: 50, cols: 220 };
const everything = PROBES.map(({ name }) => name);
const tokensOf = (text: string) =>
  scanTerminal(SCANNER_START, new TextEncoder().encode(text)).tokens;

Deno.test("answerProbes() answers DA1 alone by policy, every time", () => {
  const asked = "\x1b[>0q\x1b[c\x1b[6n\x1b[0c\x1b[>c\x1b[18t";
  assertEquals(answerProbes(tokensOf(asked), { size }), "\x1b[?6c\x1b[?6c");
});

Deno.test("answerProbes() knows every probe of the table in both spellings", () => {
  const cases: readonly (readonly [string, string])[] = [
    ["\x1b[c", "\x1b[?6c"],
    ["\x1b[0c", "\x1b[?6c"],
    ["\x1b[>c", "\x1b[>0;0;0c"],
    ["\x1b[>0c", "\x1b[>0;0;0c"],
    ["\x1b[6n", "\x1b[1;1R"],
    ["\x1b[>q", "\x1bP>|claude-print\x1b\\"],
    ["\x1b[>0q", "\x1bP>|claude-print\x1b\\"],
    ["\x1b[18t", "\x1b[8;50;220t"],
  ];
  for (const [asked, reply] of cases) {
    assertEquals(answerProbes(tokensOf(asked), { size, answer: everything }), reply);
  }
});

Deno.test("answerProbes() tells the cursor once it is known", () => {
  const options = { size, answer: everything, cursor: { row: 7, col: 12 } };
  assertEquals(answerProbes(tokensOf("\x1b[6n"), options), "\x1b[7;12R");
});

Deno.test("answerProbes() keeps the order of the questions", () => {
  const reply = answerProbes(tokensOf("\x1b[18t\x1b[c\x1b[>c"), { size, answer: everything });
  assertEquals(reply, "\x1b[8;50;220t\x1b[?6c\x1b[>0;0;0c");
});

Deno.test("answerProbes() ignores probes it does not know", () => {
  const unknown = "\x1b[?u\x1b]7501;?\x07\x1b[16t\x1b[?1016$p\x1b_Gi=31\x1b\\\x1b[5n\x1b[=c";
  assertEquals(answerProbes(tokensOf(unknown), { size, answer: everything }), "");
});
