import { assertEquals } from "@std/assert";
import { answerProbes } from "../../../src/session/terminal/probes.ts";
import { SCANNER_START, scanTerminal } from "../../../src/session/terminal/terminal_scanner.ts";

const answersTo = (text: string) =>
  answerProbes(scanTerminal(SCANNER_START, new TextEncoder().encode(text)).tokens);

Deno.test("answerProbes() answers DA1 in both of its spellings, every time, and nothing else", () => {
  assertEquals(answersTo("\x1b[>0q\x1b[c\x1b[6n\x1b[0c\x1b[>c\x1b[18t"), "\x1b[?6c\x1b[?6c");
  const unknown = "\x1b[?u\x1b]7501;?\x07\x1b[16t\x1b[?1016$p\x1b_Gi=31\x1b\\\x1b[5n\x1b[=c";
  assertEquals(answersTo(unknown), "");
});
