import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import deno from "../../../deno.json" with { type: "json" };
import {
  COMMAND_NAMES,
  COMMAND_SHAPES,
  type CommandName,
  commandUsage,
} from "../../../src/cli/arguments/command_shapes.ts";
import { COMMON_FLAGS, FLAGS } from "../../../src/cli/arguments/flags.ts";
import { parseArguments } from "../../../src/cli/arguments/parse_arguments.ts";
import { actionTexts, commandHelp, flagsOf } from "../../../src/cli/help/command_help.ts";
import { COMMAND_TEXTS } from "../../../src/cli/help/command_texts.ts";
import { manPage } from "../../../src/cli/help/man_page.ts";
import { MANUAL } from "../../../src/cli/help/manual.ts";
import { helpText, shortHelp } from "../../../src/cli/help/run_help.ts";

const [HELP, SHORT, PAGE] = [helpText(), shortHelp(), manPage()];

/** The page without its escapes. */
const READABLE = PAGE
  .replaceAll(/\\f[BIR]|\\&/g, "")
  .replaceAll("\\-", "-")
  .replaceAll("\\(aq", "'")
  .replaceAll("\\(ga", "`")
  .replaceAll("\\(ti", "~")
  .replaceAll("\\e", "\\")
  .replaceAll(/\s+/g, " ");

/** Texts of commands and actions by the words after "claude-print". */
const TOPICS = COMMAND_NAMES.flatMap((command) => [
  { command, action: undefined, text: commandHelp(command) },
  ...actionTexts(command).map(([action]) => ({
    ...{ command, action, text: commandHelp(command, action) },
  })),
]);

function assertFits(text: string): void {
  assert(text.startsWith("Usage: claude-print ") && /[^\n]\n$/u.test(text), text);
  for (const line of text.split("\n")) {
    assert(/^(?:[\x20-\x7e]{0,79}[\x21-\x7e])?$/.test(line), line);
  }
}

Deno.test("every help text is plain and within 80 columns", () => {
  for (const text of [HELP, SHORT, ...TOPICS.map(({ text }) => text)]) assertFits(text);
});

Deno.test("the short help is one screen of what most people need", () => {
  assert(SHORT.trimEnd().split("\n").length <= 40, SHORT);
  for (const example of MANUAL.examples.slice(0, 5)) {
    assertStringIncludes(SHORT, `\n  ${example}\n`);
  }
  const rows = [...SHORT.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gmu)].map(([, name]) => name);
  assertEquals([rows, rows.length], [[...COMMON_FLAGS], 12]);
  const [, commands = ""] = SHORT.split("\nCommands ");
  const words = new Set(commands.split(/[\s,]+/u));
  for (const name of COMMAND_NAMES) assert(words.has(name), name);
  const rare = /--(?:inject|\w+-timeout|ax-screen-reader|remote-control)/u;
  assert(!rare.test(SHORT) && !/without effect/u.test(SHORT));
});

Deno.test("help begins with examples and has its groups in order", () => {
  assertEquals(HELP.split("\n").filter((line) => /^[A-Z].*:$/.test(line)), [
    "Examples:",
    'Commands ("claude-print help <command>" says more):',
    ...["Prompt:", "Output:", "Model:", "Tools and permissions:", "Sessions:", "Limits:"],
    ...["Settings:", "Server:", "Recording and replay:", "Debugging:", "Rarely needed:"],
    "Unsupported (error, exit code 2):",
    "Exit codes:",
    "Environment:",
  ]);
  const [works = ""] = HELP.split("\nUnsupported");
  const rows = [...works.matchAll(/^ {2}(?:-\w+, )*(--[\w-]+)/gmu)].map(([, name]) => name);
  const offered = FLAGS.filter((flag) => !flag.hidden && flag.class !== "refused");
  assertEquals(rows, offered.map(({ name }) => name));
});

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

Deno.test("each command and action has a help and its place in the manual", async () => {
  for (const { command, action, text } of TOPICS) {
    const topic = [command, ...action === undefined ? [] : [action]];
    for (const line of [["help", ...topic], [...topic, "--help"], [...topic, "-h"]]) {
      const parsed = await parseArguments(line);
      assertEquals(parsed, { kind: "help", command, ...action === undefined ? {} : { action } });
    }
    const { description } = action === undefined
      ? COMMAND_TEXTS[command]
      : COMMAND_TEXTS[command].actions?.[action] ?? { description: [] };
    assert(description.length > 0, topic.join(" "));
    for (const paragraph of description) {
      const words = paragraph.replaceAll(/\s+/gu, " ").trim();
      assertStringIncludes(text.replaceAll(/\s+/gu, " "), words);
      assertStringIncludes(READABLE, words);
    }
    for (const usage of commandUsage(command, action)) assertStringIncludes(text, usage);
    const flags = [...text.matchAll(/^ {2}(--[\w-]+)/gmu)].map(([, name]) => name);
    assertEquals(flags, flagsOf(command, action).map(({ name }) => name), topic.join(" "));
  }
});

Deno.test("actions have help texts, shells need none", () => {
  for (const command of COMMAND_NAMES) {
    const { action } = COMMAND_SHAPES[command];
    const named = action?.name === "an action" ? action.choices : [];
    assertEquals(actionTexts(command).map(([name]) => name), [...named], command);
    for (const name of named) assertStringIncludes(commandHelp(command), `\n  ${name} `);
  }
});

Deno.test("the help of an action leaves the others out", () => {
  const help = commandHelp("cassette", "replay");
  for (const other of ["scrub", "fork", "--at", "--prompts"]) assert(!help.includes(other), other);
  const rows: readonly (readonly [CommandName, string])[] = [
    ["shim", "claude-print shim install <folder>\n"],
    ["shim", "claude-print shim status [folder]\n"],
    ["cassette", "claude-print cassette diff [flags] <folder> <folder>\n"],
    ["drift", "claude-print drift [flags] <path>...\n"],
    ["bisect", "claude-print bisect [flags] [path]...\n"],
    ["serve", "claude-print serve [flags] [-- flags of claude -p]\n"],
    ["serve", "claude-print serve stop [flags]\n"],
    ["send", "claude-print send [flags] <id> [text]\n"],
    ["answer", "claude-print answer [flags] <id> [answer]...\n"],
    ["help", "claude-print help [command [action]]\n"],
  ];
  for (const [command, usage] of rows) assertStringIncludes(commandHelp(command), usage);
});

Deno.test("the manual has its sections in order", () => {
  assertEquals([...PAGE.matchAll(/^\.SH (.*)$/gm)].map(([, name]) => name), [
    ...["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "COMMANDS", "EXIT STATUS", "ENVIRONMENT"],
    ...["FILES", "EXAMPLES", "SEE ALSO"],
  ]);
  assertStringIncludes(READABLE, `"claude-print ${deno.version}"`);
});

Deno.test("the manual uses only known macros and no blank lines", () => {
  assert(PAGE.endsWith("\n") && !PAGE.endsWith("\n\n"));
  for (const line of PAGE.trimEnd().split("\n")) {
    assert(line.length > 0 && /^[\x20-\x7e]*\S$/.test(line), line);
    assert(!/^[.'](?!(?:TH|SH|SS|TP|TQ|PP|RS|RE|BR|br|nf|fi)\b)/.test(line), line);
  }
});
