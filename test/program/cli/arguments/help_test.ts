import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import deno from "../../../../deno.json" with { type: "json" };
import { COMMAND_NAMES } from "../../../../src/cli/arguments/command_shapes.ts";
import { FLAGS } from "../../../../src/cli/arguments/flags.ts";
import { helpText, manPage, MANUAL } from "../../../../src/cli/help/manual.ts";
import { missingTool } from "../../../missing_tool.ts";
import { skipIfLacking } from "../../../skip_if_lacking.ts";

const [HELP, PAGE] = [helpText(), manPage()];

/** The page without its escapes. */
const READABLE = PAGE
  .replaceAll(/\\f[BIR]|\\&/g, "")
  .replaceAll("\\-", "-")
  .replaceAll("\\(aq", "'")
  .replaceAll("\\(ga", "`")
  .replaceAll("\\(ti", "~")
  .replaceAll("\\e", "\\")
  .replaceAll(/\s+/g, " ");

Deno.test("help and manual explain every flag that is not hidden", () => {
  for (const [text, separator] of [[HELP, /[\s,/[]+/], [READABLE, /[\s,/[]+|\.(?=\s)/]] as const) {
    const words = new Set(text.split(separator));
    for (const { name, aliases, hidden, help, class: kind } of FLAGS) {
      for (const spelling of [name, ...aliases]) {
        assertEquals(words.has(spelling), !hidden, spelling);
      }
      if (hidden || kind === "refused") continue;
      assertStringIncludes(text.replaceAll(/\s+/g, " "), help);
    }
  }
});

Deno.test("help has a row for each flag that works", () => {
  const [works = ""] = HELP.split("Without meaning here");
  const rows = [...works.matchAll(/^ {2}(?:-\w+, )*(--[\w-]+)/gmu)].map(([, name]) => name);
  const offered = FLAGS.filter((flag) => !flag.hidden && flag.class !== "refused");
  assertEquals(rows.toSorted(), offered.map(({ name }) => name).toSorted());
});

Deno.test("help is plain text within 80 columns", () => {
  assert(HELP.startsWith("Usage: claude-print ") && HELP.endsWith("\n"));
  assertStringIncludes(HELP, "\n  -d, --debug [filter]         Debug mode");
  assertStringIncludes(
    HELP,
    "\n  --allowedTools, --allowed-tools <tools...>\n                     ",
  );
  for (const line of HELP.split("\n")) {
    assert(/^(?:[\x20-\x7e]{0,79}[\x21-\x7e])?$/.test(line), line);
  }
});

Deno.test("help and manual have their sections in order", () => {
  assertEquals(HELP.split("\n").filter((line) => /^[A-Z].*:$/.test(line)), [
    'Commands ("claude-print <command> --help" says more):',
    "Flags of its own:",
    "Flags about the output:",
    "Flags for Claude Code:",
    "Without meaning here (exit code 2):",
    "Exit codes:",
    "Environment:",
    "Examples:",
  ]);
  assertEquals([...PAGE.matchAll(/^\.SH (.*)$/gm)].map(([, name]) => name), [
    ...["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "COMMANDS", "EXIT STATUS", "ENVIRONMENT"],
    ...["FILES", "EXAMPLES", "SEE ALSO"],
  ]);
  assertEquals([...PAGE.matchAll(/^\.SS (.*)$/gm)].map(([, name]) => name).slice(0, 3), [
    ...["Of its own", "About the output", "For Claude Code"],
  ]);
  assertStringIncludes(READABLE, `"claude-print ${deno.version}"`);
});

Deno.test("help and manual explain commands and exit codes", () => {
  for (const code of ["0", "1", "2", "124", "130", "143", "128+n"]) {
    assertStringIncludes(HELP, `\n  ${code.padEnd(5)}  `);
    assertStringIncludes(READABLE, `.TP ${code} `);
  }
  for (const name of COMMAND_NAMES) {
    assertStringIncludes(HELP, `\n  ${name} `);
    assertStringIncludes(READABLE, `.TP claude-print ${name} `);
  }
  for (const words of [...MANUAL.introduction, ...MANUAL.examples]) {
    assertStringIncludes(READABLE, words);
  }
  for (const [name, meaning] of [...MANUAL.environment, ...MANUAL.files]) {
    assertStringIncludes(READABLE, `.TP ${name} ${meaning} `);
  }
});

Deno.test("the manual uses only known macros and no blank lines", () => {
  assert(PAGE.endsWith("\n") && !PAGE.endsWith("\n\n"));
  for (const line of PAGE.trimEnd().split("\n")) {
    assert(line.length > 0 && /^[\x20-\x7e]*\S$/.test(line), line);
    assert(!/^[.'](?!(?:TH|SH|SS|TP|TQ|PP|RS|RE|BR|br|nf|fi)\b)/.test(line), line);
  }
});

for (const command of ["mandoc -Tlint -Wall", "groff -ww -man -Tutf8"]) {
  const [program = "", ...args] = command.split(" ");
  Deno.test(skipIfLacking(missingTool(program), {
    name: `the manual is clean under ${command}`,
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
      const text = new TextDecoder();
      assertEquals([code, text.decode(stderr)], [0, ""]);
      if (program === "mandoc") assertEquals(text.decode(stdout), "");
    },
  }));
}
