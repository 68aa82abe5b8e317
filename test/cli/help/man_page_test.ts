import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import deno from "../../../deno.json" with { type: "json" };
import { COMMAND_NAMES } from "../../../src/cli/command_shapes.ts";
import { FLAGS } from "../../../src/cli/flags.ts";
import { manPage } from "../../../src/cli/help/man_page.ts";
import { MANUAL } from "../../../src/cli/help/manual.ts";
import { lackOf } from "../../find_tool.ts";
import { unlessLacking } from "../../unless_lacking.ts";

const PAGE = manPage();

/** The page as a reader sees it, as far as its escapes go. */
const READABLE = PAGE
  .replaceAll(/\\f[BIR]|\\&/g, "")
  .replaceAll("\\-", "-")
  .replaceAll("\\(aq", "'")
  .replaceAll("\\(ga", "`")
  .replaceAll("\\(ti", "~")
  .replaceAll("\\e", "\\")
  .replaceAll(/\s+/g, " ");

Deno.test("manPage has its sections in order", () => {
  assertEquals([...PAGE.matchAll(/^\.SH (.*)$/gm)].map(([, name]) => name), [
    "NAME",
    "SYNOPSIS",
    "DESCRIPTION",
    "OPTIONS",
    "COMMANDS",
    "EXIT STATUS",
    "ENVIRONMENT",
    "FILES",
    "EXAMPLES",
    "SEE ALSO",
  ]);
  assertStringIncludes(READABLE, `"claude-print ${deno.version}"`);
});

Deno.test("manPage tells every flag that is not hidden, and no hidden one", () => {
  const words = new Set(READABLE.split(/[\s,/[]+|\.(?=\s)/));
  for (const flag of FLAGS) {
    for (const spelling of [flag.name, ...flag.aliases]) {
      assertEquals(words.has(spelling), !flag.hidden, spelling);
    }
    if (!flag.hidden && flag.class !== "refused") assertStringIncludes(READABLE, flag.help);
  }
});

Deno.test("manPage tells the commands, and what --help tells", () => {
  for (const name of COMMAND_NAMES) assertStringIncludes(READABLE, `.TP claude-print ${name} `);
  for (const words of [...MANUAL.introduction, ...MANUAL.examples]) {
    assertStringIncludes(READABLE, words);
  }
  for (const [name, meaning] of [...MANUAL.exitCodes, ...MANUAL.environment, ...MANUAL.files]) {
    assertStringIncludes(READABLE, `.TP ${name} ${meaning} `);
  }
});

Deno.test("manPage is plain text without blank lines, and ends in a new line", () => {
  assert(PAGE.endsWith("\n") && !PAGE.endsWith("\n\n"));
  for (const line of PAGE.trimEnd().split("\n")) {
    assert(line.length > 0 && /^[\x20-\x7e]*\S$/.test(line), line);
    assert(!/^[.'](?!(?:TH|SH|SS|TP|TQ|PP|RS|RE|BR|br|nf|fi)\b)/.test(line), line);
  }
});

for (
  const command of [["mandoc", "-Tlint", "-Wall"], ["groff", "-ww", "-man", "-Tutf8"]] as const
) {
  const [program, ...args] = command;
  Deno.test(unlessLacking(lackOf(program), {
    name: `manPage is clean under ${command.join(" ")}`,
    fn: async () => {
      const child = new Deno.Command(program, {
        args,
        stdin: "piped",
        stdout: "piped",
        stderr: "piped",
      }).spawn();
      const written = new Blob([PAGE]).stream().pipeTo(child.stdin);
      const { code, stdout, stderr } = await child.output();
      await written;
      const text = new TextDecoder().decode(stderr);
      assertEquals([code, text], [0, ""]);
      if (program === "mandoc") assertEquals(new TextDecoder().decode(stdout), "");
    },
  }));
}
