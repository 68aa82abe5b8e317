import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { FLAGS } from "../../../src/cli/flags.ts";
import { helpText } from "../../../src/cli/help/help.ts";

Deno.test("helpText names every flag that is not hidden, and no hidden one", () => {
  const words = new Set(helpText().split(/[\s,/[]+/));
  for (const flag of FLAGS) {
    for (const spelling of [flag.name, ...flag.aliases]) {
      assertEquals(words.has(spelling), !flag.hidden, spelling);
    }
  }
});

Deno.test("helpText explains every flag that is honoured", () => {
  const text = helpText().replaceAll(/\s+/g, " ");
  for (const flag of FLAGS) {
    if (!flag.hidden && flag.class !== "refused") assertStringIncludes(text, flag.help);
  }
});

Deno.test("helpText fits 80 columns of plain text and ends in a new line", () => {
  const text = helpText();
  assert(text.endsWith("\n"));
  for (const line of text.split("\n")) {
    assert(line.length <= 80, line);
    assertEquals(line, line.trimEnd());
    assert(/^[\x20-\x7e]*$/.test(line), line);
  }
});

Deno.test("helpText has its sections in order", () => {
  const headings = helpText().split("\n").filter((line) => /^[A-Z].*:$/.test(line));
  assertEquals(headings, [
    'Commands ("claude-print <command> --help" says more):',
    "Flags of its own:",
    "Flags about the output:",
    "Flags for Claude Code:",
    "Without meaning here (exit code 2):",
    "Exit codes:",
    "Environment:",
    "Examples:",
  ]);
});

Deno.test("helpText documents every exit code", () => {
  for (const code of ["0", "1", "2", "124", "130", "143", "128+n"]) {
    assertStringIncludes(helpText(), `\n  ${code.padEnd(5)}  `);
  }
});
