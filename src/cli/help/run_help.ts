import { COMMAND_NAMES, COMMAND_SHAPES } from "../arguments/command_shapes.ts";
import { COMMON_FLAGS, type Flag, FLAGS } from "../arguments/flags.ts";
import { COMMAND_GROUPS, COMMAND_TEXTS } from "./command_texts.ts";
import { lines, section, table, wrapWords } from "./layout.ts";
import { MANUAL } from "./manual.ts";

const FLAG_COLUMN = 31;
const COMMAND_COLUMN = 14;
/** The number of examples in the short help. */
const FEW_EXAMPLES = 5;

const USAGE = `Usage: ${MANUAL.usage.join(`\n${" ".repeat(7)}`)}`;

/** Returns the output of `claude-print -h`: one screen of up to 40 lines of 80 columns. */
export function shortHelp(): string {
  const common = COMMON_FLAGS.flatMap((name) => FLAGS.filter((flag) => flag.name === name))
    .map((flag) => ({ ...flag, aliases: flag.aliases.filter((one) => !one.startsWith("--")) }));
  const groups = Object.entries(COMMAND_GROUPS).map(([group, title]) =>
    [
      title,
      COMMAND_NAMES.filter((name) => COMMAND_TEXTS[name].group === group).join(", "),
    ] as const
  );
  return [
    USAGE,
    wrapWords(
      "Does what `claude -p` does, by driving the interactive Claude Code: same flags, same output.",
    ),
    ...section("Examples", lines(MANUAL.examples.slice(0, FEW_EXAMPLES))),
    ...section("Flags (claude-print --help lists all)", flagTable(common)),
    ...section(
      "Commands (claude-print help <command> says more)",
      table(groups, { column: COMMAND_COLUMN }),
    ),
  ].join("\n\n") + "\n";
}

/** Returns the output of `claude-print --help`, up to 80 columns wide. */
export function helpText(): string {
  const refused = FLAGS.filter((flag) => !flag.hidden && flag.class === "refused")
    .map((flag) => [flag.name, ...flag.aliases].join("/"));
  const commands = COMMAND_NAMES.map((name) => [name, COMMAND_SHAPES[name].summary] as const);
  return [
    USAGE,
    ...section("Examples", lines(MANUAL.examples)),
    ...MANUAL.introduction.map((paragraph) => wrapWords(paragraph)),
    ...section(
      'Commands ("claude-print help <command>" says more)',
      table(commands, { column: COMMAND_COLUMN }),
    ),
    ...flagGroups().flatMap(({ title, flags }) => section(title, flagTable(flags))),
    ...section(
      "Unsupported (error, exit code 2)",
      wrapWords(refused.join(" "), { indent: 2 }),
    ),
    ...section("Exit codes", table(MANUAL.exitCodes, { column: 9 })),
    ...section("Environment", table(MANUAL.environment, { column: 29 })),
  ].join("\n\n") + "\n";
}

/** Returns the groups of flags that the help text lists. */
export function flagGroups(): readonly {
  readonly title: string;
  readonly flags: readonly Flag[];
}[] {
  const shown = FLAGS.filter((flag) => !flag.hidden && flag.class !== "refused");
  return [...Map.groupBy(shown, ({ group }) => group)].map(([title, flags]) => ({ title, flags }));
}

function flagTable(flags: readonly Flag[]): string {
  return table(
    flags.map((flag) => [`${spellings(flag).join(", ")}${valueOf(flag)}`, flag.help]),
    { column: FLAG_COLUMN },
  );
}

/** Returns all spellings of a flag, the short ones first. */
export function spellings({ name, aliases }: Flag): readonly string[] {
  const isLong = (one: string) => one.startsWith("--");
  return [...aliases.filter((one) => !isLong(one)), name, ...aliases.filter(isLong)];
}

function valueOf({ value, placeholder }: Flag): string {
  return value === "none" || value === "attached" ? placeholder : ` ${placeholder}`;
}
