import { COMMAND_SHAPES, type CommandFlag, type CommandName, goesWith } from "./command_shapes.ts";
import { READING } from "./tokenize.ts";
import { CliError } from "../../cli_error.ts";

/** A command's arguments, told apart. */
export interface Given {
  readonly switches: ReadonlySet<string>;
  /** The values of each flag that has some, in their order. */
  readonly values: ReadonlyMap<string, readonly string[]>;
  readonly operands: readonly string[];
  /** What stands behind "--", if that stands there. */
  readonly rest: readonly string[] | undefined;
}

/** The value of a flag; that which was given last, if there are several. */
export type LastValue = (name: string) => string | undefined;

/**
 * Tells the arguments of a command apart, and checks them against its shape.
 *
 * @throws {CliError} for anything the command does not take, and for what it misses
 */
export function readGiven(command: CommandName, argv: readonly string[]): Given | "help" {
  const { flags, first, operands: shapes = {} } = COMMAND_SHAPES[command];
  const switches = new Set<string>();
  const values = new Map<string, string[]>();
  const operands: string[] = [];
  const args = [...argv];
  const wordOf = () => first === undefined ? "" : operands[0] ?? "";
  const mayTake = () => {
    if (first !== undefined && operands.length === 0) return true;
    const taken = operands.length - (first === undefined ? 0 : 1);
    return taken < (shapes[wordOf()]?.most ?? 0);
  };
  const given: CommandFlag[] = [];
  let rest: readonly string[] | undefined;
  for (let argument = args.shift(); argument !== undefined; argument = args.shift()) {
    if (argument === "--help" || argument === "-h") return "help";
    if (argument === "--" && shapes[wordOf()]?.rest !== undefined) {
      rest = args;
      break;
    }
    const name = argument.replace(/=.*$/su, "");
    const flag = flags.find((one) => one.name === name);
    if (flag !== undefined) given.push(flag);
    if (flag?.placeholder === "" && name === argument) {
      switches.add(argument);
    } else if (flag !== undefined && flag.placeholder !== "") {
      const value = argument.includes("=") ? argument.slice(name.length + 1) : args.shift();
      if (value === undefined) {
        throw new CliError(`${READING}: ${name} needs a value`, {
          suggestion: `Type ${name} ${flag.placeholder}`,
        });
      }
      values.set(name, [...values.get(name) ?? [], value]);
    } else if (!argument.startsWith("-") && mayTake()) {
      operands.push(argument);
    } else {
      throw new CliError(`${READING}: ${command} does not take "${argument}"`, {
        suggestion:
          `"claude-print ${command} --help" lists what it takes; a prompt goes after "--"`,
      });
    }
  }
  const suggestion = `"claude-print ${command} --help" says how`;
  const [word] = operands;
  if (first !== undefined && (word === undefined || !first.choices.includes(word))) {
    throw new CliError(
      `${READING}: ${command} ${
        word === undefined ? `needs ${first.name}` : `does not take "${word}"`
      }`,
      { suggestion: `Use one of ${first.choices.join(", ")}; ${suggestion}` },
    );
  }
  const alien = given.find((flag) => !goesWith(flag, wordOf()));
  if (alien !== undefined) {
    throw new CliError(`${READING}: ${command} ${wordOf()} does not take "${alien.name}"`, {
      suggestion: `Leave it out: only ${command} ${alien.goesWith?.join(", ")} has it`,
    });
  }
  const shape = shapes[wordOf()];
  if (shape !== undefined && operands.length - (first === undefined ? 0 : 1) < shape.least) {
    throw new CliError(
      `${READING}: ${[command, ...operands.slice(0, 1)].join(" ")} needs ${shape.name}`,
      { suggestion },
    );
  }
  return { switches, values, operands, rest };
}

/** The value of a flag that is one of some words. */
export function oneOf<Word extends string>(
  name: string,
  value: string,
  words: readonly Word[],
): Word {
  const word = words.find((each) => each === value);
  if (word !== undefined) return word;
  throw new CliError(`${READING}: ${name} does not take "${value}"`, {
    suggestion: `Use one of ${words.join(", ")}`,
  });
}

/** The value of a flag that is a number from 0 on. */
export function numberIn(name: string, value: string, { most }: { readonly most: number }): number {
  const number = /^\d+(?:\.\d+)?$/u.test(value) ? Number(value) : NaN;
  if (number <= most) return number;
  throw new CliError(`${READING}: ${name} "${value}" is no number from 0 to ${most}`, {
    suggestion: `Write it as ${name} 1, or leave it out`,
  });
}
