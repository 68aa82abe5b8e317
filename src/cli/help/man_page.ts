import deno from "../../../deno.json" with { type: "json" };
import { COMMAND_NAMES, type CommandName, commandUsage } from "../arguments/command_shapes.ts";
import { FLAGS } from "../arguments/flags.ts";
import { actionTexts, flagsOf } from "./command_help.ts";
import { COMMAND_TEXTS, type HelpText } from "./command_texts.ts";
import { type Rows, wrapWords } from "./layout.ts";
import { MANUAL } from "./manual.ts";
import { flagGroups, spellings } from "./run_help.ts";

/** The date of the last revision of the texts. */
const REVISED = "2026-11-29";

/** Returns the manual page in roff, with the macros of man(7). */
export function manPage(): string {
  const groups = flagGroups().flatMap(({ title, flags }) => [
    `.SS ${roffText(title)}`,
    ...flags.map((flag) =>
      roffEntry(
        `${spellings(flag).map(roffBold).join(", ")}${roffValue(flag.placeholder)}`,
        flag.help,
      )
    ),
  ]);
  const refused = FLAGS.filter((flag) => !flag.hidden && flag.class === "refused")
    .map((flag) => spellings(flag).map(roffBold).join("/"));
  const commands = COMMAND_NAMES.flatMap((name) => [
    roffCommand(name, undefined, COMMAND_TEXTS[name]),
    ...actionTexts(name).map(([action, text]) => roffCommand(name, action, text)),
  ]);
  return [
    `.TH CLAUDE\\-PRINT 1 ${REVISED} "claude\\-print ${deno.version}" "User Commands"`,
    ".SH NAME",
    `claude\\-print \\- ${roffText(MANUAL.summary)}`,
    ".SH SYNOPSIS",
    MANUAL.usage.map(roffCommandLine).join("\n.br\n"),
    ".SH DESCRIPTION",
    MANUAL.introduction.map(roffText).join("\n.PP\n"),
    ".SH OPTIONS",
    ...groups,
    ".SS Unsupported",
    "These end the run with an error and exit code 2:",
    `${refused.join(",\n")}.`,
    ".SH COMMANDS",
    roffText('A command is one only as the very first argument; a prompt can go after "--".'),
    ...commands,
    ".SH EXIT STATUS",
    ...roffRows(MANUAL.exitCodes),
    ".SH ENVIRONMENT",
    ...roffRows(MANUAL.environment),
    ".SH FILES",
    ...roffRows(MANUAL.files),
    ".SH EXAMPLES",
    ".nf",
    ...MANUAL.examples.map(roffLiteral),
    ".fi",
    ".SH SEE ALSO",
    ".BR claude (1)",
  ].join("\n") + "\n";
}

/** Formats a command, or one of its actions: usage, description, flags and exit codes. */
function roffCommand(name: CommandName, action: string | undefined, text: HelpText): string {
  const { description: [first = "", ...others], exitCodes = [] } = text;
  // The usage of each action comes with the action.
  const usages = commandUsage(name, actionTexts(name).length > 0 ? action ?? "" : action);
  const flags = flagsOf(name, action).map((flag) =>
    roffEntry(`${roffBold(flag.name)}${roffValue(flag.placeholder)}`, flag.help)
  );
  return [
    ...usages.map((usage, index) => `${index === 0 ? ".TP" : ".TQ"}\n${roffCommandLine(usage)}`),
    roffText(first),
    ".RS",
    ...others.map((paragraph) => roffParagraph(paragraph)),
    ...flags,
    ...(exitCodes.length === 0 ? [] : [".PP", "Exit codes:", ...roffRows(exitCodes)]),
    ".RE",
  ].join("\n").replace("\n.RS\n.RE", "");
}

function roffParagraph(text: string): string {
  return text.startsWith("  ")
    ? `.PP\n.nf\n${text.split("\n").map(roffLiteral).join("\n")}\n.fi`
    : `.PP\n${roffText(text)}`;
}

function roffRows(rows: Rows): readonly string[] {
  return rows.map(([name, meaning]) => roffEntry(roffBold(name), meaning));
}

/** Formats a tagged paragraph. */
function roffEntry(tag: string, body: string): string {
  return `.TP\n${tag}\n${roffText(body)}`;
}

function roffBold(word: string): string {
  return `\\fB${roffLiteral(word)}\\fR`;
}

/** Formats the value of a flag, without the brackets of a required one, as is usual in manuals. */
function roffValue(placeholder: string): string {
  if (placeholder === "") return "";
  const words = roffLiteral(placeholder.replaceAll(/[<>]/g, ""));
  return `${placeholder.startsWith("[=") ? "" : " "}\\fI${words}\\fR`;
}

/** Formats a command line with its placeholders in italics. */
function roffCommandLine(usage: string): string {
  return usage.split(" ").map((word) =>
    /^<.*>$/.test(word)
      ? roffValue(word).trim()
      : /^\[|\||^command$/.test(word)
      ? roffLiteral(word)
      : roffBold(word)
  ).join(" ");
}

/** Formats running text. The dashes of flags and single dashes are not hyphens. */
function roffText(words: string): string {
  const dashed = escapeRoff(words).replaceAll(
    /(?<![\w-])-+/g,
    (dashes) => "\\-".repeat(dashes.length),
  );
  // A line that begins with a dot would be a request.
  return wrapWords(dashed).replaceAll(/^\./gm, "\\&.");
}

/** Formats text that a reader may copy: no dash is a hyphen. */
function roffLiteral(words: string): string {
  return escapeRoff(words).replaceAll("-", "\\-");
}

/** Escapes all characters with a meaning in roff except the dash. */
function escapeRoff(words: string): string {
  return words
    .replaceAll("\\", "\\e")
    .replaceAll("~", "\\(ti")
    .replaceAll("^", "\\(ha")
    .replaceAll("`", "\\(ga")
    .replaceAll("'", "\\(aq");
}
