import deno from "../../../deno.json" with { type: "json" };
import { COMMAND_NAMES, COMMAND_SHAPES, commandUsage } from "../arguments/command_shapes.ts";
import { type Flag, FLAGS } from "../arguments/flags.ts";
import { MANUAL, wrapWords } from "./manual.ts";

/** When the texts were last revised. */
const REVISED = "2026-11-22";

/** The manual page in roff, with the macros of man(7), from the tables of flags and commands. */
export function manPage(): string {
  const shown = FLAGS.filter((flag) => !flag.hidden);
  const flags = (...classes: readonly Flag["class"][]) =>
    shown.filter((flag) => classes.includes(flag.class)).map((flag) =>
      entry(`${spellings(flag).map(bold).join(", ")}${value(flag.placeholder)}`, flag.help)
    );
  const refused = shown.filter((flag) => flag.class === "refused")
    .map((flag) => spellings(flag).map(bold).join("/"));
  const commands = COMMAND_NAMES.map((name) =>
    [
      ...commandUsage(name).map((usage, index) => `${index === 0 ? ".TP" : ".TQ"}\n${line(usage)}`),
      text(`${COMMAND_SHAPES[name].summary}.`),
      ...(COMMAND_SHAPES[name].flags.length === 0 ? [] : [
        ".RS",
        ...COMMAND_SHAPES[name].flags.map((flag) =>
          entry(`${bold(flag.name)}${value(flag.placeholder)}`, flag.help)
        ),
        ".RE",
      ]),
    ].join("\n")
  );
  const table = (rows: readonly (readonly [string, string])[]) =>
    rows.map(([name, meaning]) => entry(bold(name), meaning));
  return [
    `.TH CLAUDE\\-PRINT 1 ${REVISED} "claude\\-print ${deno.version}" "User Commands"`,
    ".SH NAME",
    `claude\\-print \\- ${text(MANUAL.summary)}`,
    ".SH SYNOPSIS",
    [...MANUAL.usage, "claude-print <command> [...]"].map(line).join("\n.br\n"),
    ".SH DESCRIPTION",
    MANUAL.introduction.map(text).join("\n.PP\n"),
    ".SH OPTIONS",
    ".SS Of its own",
    ...flags("own"),
    ".SS About the output",
    ...flags("output"),
    ".SS For Claude Code",
    ...flags("forwarded", "merged", "ineffective"),
    ".SS Refused",
    "These end with exit code 2, because they have no meaning here:",
    `${refused.join(",\n")}.`,
    ".SH COMMANDS",
    text('A command is one only as the very first argument; a prompt can go after "--".'),
    ...commands,
    ".SH EXIT STATUS",
    ...table(MANUAL.exitCodes),
    ".SH ENVIRONMENT",
    ...table(MANUAL.environment),
    ".SH FILES",
    ...table(MANUAL.files),
    ".SH EXAMPLES",
    ".nf",
    ...MANUAL.examples.map(literal),
    ".fi",
    ".SH SEE ALSO",
    ".BR claude (1)",
  ].join("\n") + "\n";
}

function spellings({ name, aliases }: Flag): readonly string[] {
  return [...aliases.filter((alias) => !alias.startsWith("--")), name]
    .concat(aliases.filter((alias) => alias.startsWith("--")));
}

/** A tagged paragraph. */
function entry(tag: string, body: string): string {
  return `.TP\n${tag}\n${text(body)}`;
}

function bold(word: string): string {
  return `\\fB${literal(word)}\\fR`;
}

/** A flag's value; the brackets of one that must be given are left out, as is usual in manuals. */
function value(placeholder: string): string {
  if (placeholder === "") return "";
  const words = literal(placeholder.replaceAll(/[<>]/g, ""));
  return `${placeholder.startsWith("[=") ? "" : " "}\\fI${words}\\fR`;
}

/** A command line: what stands for something is in italics. */
function line(usage: string): string {
  return usage.split(" ").map((word) =>
    /^<.*>$/.test(word)
      ? value(word).trim()
      : /^\[|\||^command$/.test(word)
      ? literal(word)
      : bold(word)
  ).join(" ");
}

/** Running text, in which a flag and a dash that stands alone are not hyphens. */
function text(words: string): string {
  const dashed = escaped(words).replaceAll(
    /(?<![\w-])-+/g,
    (dashes) => "\\-".repeat(dashes.length),
  );
  // A line that begins with a dot would be an instruction.
  return wrapWords(dashed.split(" "), { indent: 0 }).replaceAll(/^\./gm, "\\&.");
}

/** What a reader may copy: every dash is one. */
function literal(words: string): string {
  return escaped(words).replaceAll("-", "\\-");
}

/** No character has a meaning to roff any more, but the dash. */
function escaped(words: string): string {
  return words
    .replaceAll("\\", "\\e")
    .replaceAll("~", "\\(ti")
    .replaceAll("^", "\\(ha")
    .replaceAll("`", "\\(ga")
    .replaceAll("'", "\\(aq");
}
