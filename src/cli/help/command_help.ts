import {
  COMMAND_SHAPES,
  type CommandFlag,
  type CommandName,
  commandUsage,
  flagFits,
} from "../arguments/command_shapes.ts";
import { COMMAND_TEXTS, type HelpText } from "./command_texts.ts";
import { lines, section, table, wrapWords } from "./layout.ts";

const FLAG_COLUMN = 31;

/** Returns the flags of a command without an action, or of one of its actions. */
export function flagsOf(command: CommandName, action = ""): readonly CommandFlag[] {
  return COMMAND_SHAPES[command].flags.filter((flag) => flagFits(flag, action));
}

/** Returns the help of each action of a command; none for words without a help text, such as shells. */
export function actionTexts(command: CommandName): readonly (readonly [string, HelpText])[] {
  return Object.entries(COMMAND_TEXTS[command].actions ?? {});
}

/**
 * Returns the output of `claude-print doctor --help` and of similar command lines, up to 80 columns wide.
 *
 * @param action the action that is explained; undefined for the command
 */
export function commandHelp(command: CommandName, action?: string): string {
  const text: HelpText = COMMAND_TEXTS[command];
  const of = COMMAND_TEXTS[command].actions?.[action ?? ""];
  const actions = of === undefined ? actionTexts(command) : [];
  const { description, exitCodes = [], examples = [] } = of ?? text;
  const usage = commandUsage(command, of === undefined ? undefined : action);
  const parts = [
    `Usage: ${usage.join(`\n${" ".repeat(7)}`)}`,
    ...description.map((paragraph) =>
      paragraph.startsWith("  ") ? paragraph : wrapWords(paragraph)
    ),
    ...section(
      `Actions ("claude-print ${command} <action> --help" says more)`,
      table(
        actions.map(([name, { description: [summary = ""] }]) => [name, withoutStop(summary)]),
        { column: 14 },
      ),
    ),
    ...section(
      "Flags",
      table(
        flagsOf(command, of === undefined ? "" : action)
          .map(({ name, placeholder, help }) => [`${name} ${placeholder}`.trimEnd(), help]),
        { column: FLAG_COLUMN },
      ),
    ),
    ...section("Exit codes", table(exitCodes, { column: 9 })),
    ...section(examples.length === 1 ? "Example" : "Examples", lines(examples)),
  ];
  return `${parts.join("\n\n")}\n`;
}

function withoutStop(sentence: string): string {
  return sentence.replace(/\.$/u, "");
}
