import { COMMAND_SHAPES, type CommandName } from "./command_shapes.ts";
import type { CassetteOptions, ParsedArguments, Shell, ShimOptions } from "./parsed_arguments.ts";
import { CliError } from "../cli_error.ts";

const READING = "Cannot read the command line";

/** A command's arguments, told apart. */
interface Given {
  readonly switches: ReadonlySet<string>;
  readonly values: ReadonlyMap<string, string>;
  readonly operands: readonly string[];
}

/**
 * Reads the rest of a command line whose first argument names a command.
 *
 * @throws {CliError} for anything the command does not take, and for what it misses
 */
export function parseCommand(command: CommandName, argv: readonly string[]): ParsedArguments {
  const given = read(command, argv);
  if (given === "help") return { kind: "help", command };
  const { switches, values, operands: [first, second] } = given;
  const json = switches.has("--json");
  switch (command) {
    case "doctor": {
      const claudeBinary = values.get("--claude-binary");
      return {
        kind: "doctor",
        options: {
          offline: switches.has("--offline"),
          run: switches.has("--run"),
          json,
          ...(claudeBinary === undefined ? {} : { claudeBinary }),
        },
      };
    }
    case "sweep":
      return { kind: "sweep", options: { dryRun: switches.has("--dry-run"), json } };
    case "shim":
      return {
        kind: "shim",
        options: {
          action: first,
          ...(second === undefined ? {} : { dir: second }),
        } as ShimOptions,
      };
    case "cassette":
      return { kind: "cassette", options: { action: first, dir: second } as CassetteOptions };
    case "completion":
      return { kind: "completion", shell: first as Shell };
    case "man":
      return { kind: "man" };
  }
}

/** Tells the arguments apart, and checks them against the command's shape. */
function read(command: CommandName, argv: readonly string[]): Given | "help" {
  const { flags, first, second } = COMMAND_SHAPES[command];
  const switches = new Set<string>();
  const values = new Map<string, string>();
  const operands: string[] = [];
  const places = (first === undefined ? 0 : 1) + (second === undefined ? 0 : 1);
  const rest = [...argv];
  for (let argument = rest.shift(); argument !== undefined; argument = rest.shift()) {
    if (argument === "--help" || argument === "-h") return "help";
    const name = argument.replace(/=.*$/su, "");
    const flag = flags.find((one) => one.name === name);
    if (flag?.placeholder === "" && name === argument) {
      switches.add(argument);
    } else if (flag !== undefined && flag.placeholder !== "") {
      const value = argument.includes("=") ? argument.slice(name.length + 1) : rest.shift();
      if (value === undefined) {
        throw new CliError(`${READING}: ${name} needs a value`, {
          suggestion: `Type ${name} ${flag.placeholder}`,
        });
      }
      values.set(name, value);
    } else if (!argument.startsWith("-") && operands.length < places) {
      operands.push(argument);
    } else {
      throw new CliError(`${READING}: ${command} does not take "${argument}"`, {
        suggestion:
          `"claude-print ${command} --help" lists what it takes; a prompt goes after "--"`,
      });
    }
  }
  const suggestion = `"claude-print ${command} --help" says how`;
  const [word, operand] = operands;
  if (first !== undefined && (word === undefined || !first.choices.includes(word))) {
    throw new CliError(
      `${READING}: ${command} ${
        word === undefined ? `needs ${first.name}` : `does not take "${word}"`
      }`,
      { suggestion: `Use one of ${first.choices.join(", ")}; ${suggestion}` },
    );
  }
  if (second !== undefined && operand === undefined && word !== second.optionalFor) {
    throw new CliError(`${READING}: ${command} ${word} needs ${second.name}`, { suggestion });
  }
  return { switches, values, operands };
}
