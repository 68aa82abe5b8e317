import { COMMAND_NAMES, COMMAND_SHAPES } from "../arguments/command_shapes.ts";
import { type Flag, FLAGS } from "../arguments/flags.ts";
import { MANUAL, wrapWords } from "./manual.ts";

const HELP_COLUMN = 31;

/** The text of `claude-print --help`: made from the table of flags, at most 80 columns wide. */
export function helpText(): string {
  const shown = FLAGS.filter((flag) => !flag.hidden);
  const rows = (...classes: readonly Flag["class"][]) =>
    shown.filter((flag) => classes.includes(flag.class)).map(row).join("\n");
  const refused = shown.filter((flag) => flag.class === "refused")
    .map((flag) => [flag.name, ...flag.aliases].join("/"));
  return [
    `Usage: ${MANUAL.usage.join(`\n${" ".repeat(7)}`)}\n       claude-print <command> [...]`,
    ...MANUAL.introduction.map((paragraph) => wrapWords(paragraph.split(" "), { indent: 0 })),
    `Commands ("claude-print <command> --help" says more):\n${
      table(COMMAND_NAMES.map((name) => [name, COMMAND_SHAPES[name].summary]), { column: 14 })
    }`,
    `Flags of its own:\n${rows("own")}`,
    `Flags about the output:\n${rows("output")}`,
    `Flags for Claude Code:\n${rows("forwarded", "merged", "ineffective")}`,
    `Without meaning here (exit code 2):\n${wrapWords(refused, { indent: 2 })}`,
    `Exit codes:\n${table(MANUAL.exitCodes, { column: 9 })}`,
    `Environment:\n${table(MANUAL.environment, { column: 28 })}`,
    `Examples:\n${MANUAL.examples.map((line) => `  ${line}\n`).join("")}`,
  ].join("\n\n");
}

/** Rows of two columns, the second of which begins at `column`. */
function table(
  rows: readonly (readonly [string, string])[],
  { column }: { readonly column: number },
): string {
  return rows.map(([name, meaning]) => `  ${name}`.padEnd(column) + meaning).join("\n");
}

function row(flag: Flag): string {
  const short = flag.aliases.filter((alias) => !alias.startsWith("--"));
  const long = [flag.name, ...flag.aliases.filter((alias) => alias.startsWith("--"))];
  const joint = flag.value === "attached" ? "" : " ";
  const spelling = `  ${[...short, ...long].join(", ")}${joint}${flag.placeholder}`.trimEnd();
  const help = wrapWords(flag.help.split(" "), { indent: HELP_COLUMN });
  return spelling.length + 2 > HELP_COLUMN
    ? `${spelling}\n${help}`
    : spelling.padEnd(HELP_COLUMN) + help.slice(HELP_COLUMN);
}
