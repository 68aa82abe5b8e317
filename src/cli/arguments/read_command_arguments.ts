import { COMMAND_SHAPES, type CommandFlag, type CommandName, flagFits } from "./command_shapes.ts";
import { nearestFlag, nearestWord } from "./nearest_word.ts";
import { switchValueError, usageError } from "./usage_errors.ts";
import type { CliError } from "../../cli_error.ts";

/** The arguments of a command. */
export interface CommandArguments {
  readonly switches: ReadonlySet<string>;
  /** The values of each flag that takes one, in their order. */
  readonly values: ReadonlyMap<string, readonly string[]>;
  /** Returns the last value of a flag. */
  readonly last: (name: string) => string | undefined;
  readonly operands: readonly string[];
  /** The arguments after "--"; undefined without "--". */
  readonly rest: readonly string[] | undefined;
}

/**
 * Splits the arguments of a command, and checks them against its shape.
 *
 * @returns for `--help` the action that was typed before it, if any
 * @throws {CliError} for an argument that the command does not accept, and for a missing one
 */
export function readCommandArguments(
  command: CommandName,
  argv: readonly string[],
): CommandArguments | { readonly helpFor: string | undefined } {
  const { flags, action, operands: shapes = {} } = COMMAND_SHAPES[command];
  const switches = new Set<string>();
  const values = new Map<string, string[]>();
  const operands: string[] = [];
  const args = [...argv];
  const word = () => action === undefined ? "" : operands[0] ?? "";
  const used: CommandFlag[] = [];
  let rest: readonly string[] | undefined;
  for (let argument = args.shift(); argument !== undefined; argument = args.shift()) {
    if (argument === "--help" || argument === "-h") return { helpFor: word() || undefined };
    if (argument === "--" && shapes[word()]?.rest !== undefined) {
      rest = args;
      break;
    }
    const name = argument.replace(/=.*$/su, "");
    const flag = flags.find((each) => each.name === name);
    if (flag !== undefined) {
      used.push(flag);
      if (flag.placeholder === "") {
        if (name !== argument) throw switchValueError(name);
        switches.add(name);
        continue;
      }
      const value = argument.includes("=") ? argument.slice(name.length + 1) : args.shift();
      if (value === undefined) {
        throw usageError(`${name} needs a value`, `Type ${name} ${flag.placeholder}`);
      }
      values.set(name, [...values.get(name) ?? [], value]);
      continue;
    }
    if (argument.startsWith("-")) throw unknownFlagOfCommand(argument, { command, word: word() });
    if (action !== undefined && operands.length === 0) checkAction(command, argument);
    else if (operands.length - (action === undefined ? 0 : 1) >= (shapes[word()]?.max ?? 0)) {
      throw extraOperandError(argument, { command, argv });
    }
    operands.push(argument);
  }
  checkOperands(command, operands, used);
  return { switches, values, last: (name) => values.get(name)?.at(-1), operands, rest };
}

function listedBy(command: CommandName, word = ""): string {
  const topic = [command, word].join(" ").trim();
  return `"claude-print ${topic} --help" lists what it takes`;
}

function unknownFlagOfCommand(
  typed: string,
  { command, word }: { readonly command: CommandName; readonly word: string },
): CliError {
  const { flags, operands } = COMMAND_SHAPES[command];
  const rest = operands?.[word]?.rest;
  const names = flags.filter((flag) => word === "" || flagFits(flag, word)).map(({ name }) => name);
  const nearest = nearestFlag(typed, [...names, "--help"], { byLetter: names });
  return usageError(
    `${[command, word].join(" ").trim()} does not take "${typed}"`,
    nearest !== undefined
      ? `Did you mean ${nearest}? ${listedBy(command, word)}`
      : rest === undefined
      ? listedBy(command, word)
      : `${listedBy(command, word)}; ${rest} follow "--"`,
  );
}

/**
 * The error for a word that a command does not accept. If the command line looks like a sentence, the error suggests it
 * as a prompt.
 */
function extraOperandError(
  operand: string,
  { command, argv }: { readonly command: CommandName; readonly argv: readonly string[] },
): CliError {
  const sentence = [command, ...argv].join(" ");
  const { action, operands } = COMMAND_SHAPES[command];
  const isSentence = action === undefined &&
    sentence.split(/\s+/u).length > (operands?.[""]?.max ? 3 : 2) &&
    !argv.some((each) => each.startsWith("-"));
  return usageError(
    `${command} does not take "${operand}"`,
    isSentence
      ? `${listedBy(command)}; as a prompt: claude-print -p ${JSON.stringify(sentence)}`
      : listedBy(command),
  );
}

/**
 * Checks that a word is an action of a command.
 *
 * @throws {CliError} with a suggestion
 */
export function checkAction(command: CommandName, word: string): void {
  const { choices = [], isOptional } = COMMAND_SHAPES[command].action ?? {};
  if (choices.includes(word)) return;
  const nearest = nearestWord(word, choices);
  const list = `Use one of ${choices.join(", ")}${
    isOptional ? `, or claude-print ${command} alone` : ""
  }`;
  throw usageError(
    `${command} does not take "${word}"`,
    choices.length === 0
      ? `It has no actions: ${listedBy(command)}`
      : nearest === undefined
      ? list
      : `Did you mean ${nearest}? ${list}`,
  );
}

/** Checks the number of operands, and that each flag belongs to the action. */
function checkOperands(
  command: CommandName,
  operands: readonly string[],
  used: readonly CommandFlag[],
): void {
  const { action, operands: shapes = {} } = COMMAND_SHAPES[command];
  const [word = ""] = action === undefined ? [] : operands;
  if (action !== undefined && word === "" && !action.isOptional) {
    throw usageError(
      `${command} needs ${action.name}`,
      `Use one of ${action.choices.join(", ")}; ${listedBy(command)}`,
    );
  }
  const wrong = used.find((flag) => !flagFits(flag, word));
  if (wrong !== undefined) {
    throw usageError(
      `${`${command} ${word}`.trimEnd()} does not take "${wrong.name}"`,
      `Leave it out: only ${`${command} ${wrong.actions?.join(", ")}`.trimEnd()} has it`,
    );
  }
  const shape = shapes[word];
  const given = action === undefined ? operands : operands.slice(1);
  if (shape !== undefined && given.length < shape.min) {
    throw usageError(
      `${[command, word].join(" ").trim()} needs ${shape.name}`,
      listedBy(command, word),
    );
  }
}
