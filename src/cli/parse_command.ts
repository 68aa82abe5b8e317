import { CliError } from "./cli_error.ts";
import type { ParsedArguments } from "./parse_arguments.ts";

/** What `claude-print doctor` was asked for. */
export type DoctorOptions = {
  /** Whether the API is left alone. */
  readonly offline: boolean;
  /** Whether one real prompt is sent. */
  readonly run: boolean;
  readonly json: boolean;
  readonly claudeBinary?: string;
};

/** What `claude-print sweep` was asked for. */
export type SweepOptions = {
  /** Whether it only says what it would do. */
  readonly dryRun: boolean;
  readonly json: boolean;
};

/** The commands beside a run, and the switches each takes. */
const SWITCHES = {
  doctor: ["--offline", "--run", "--json"],
  sweep: ["--dry-run", "--json"],
} as const;

/**
 * Reads the rest of a command line whose first argument names a command.
 *
 * @throws {CliError} for anything the command does not take
 */
export function parseCommand(
  command: keyof typeof SWITCHES,
  argv: readonly string[],
): ParsedArguments {
  const switches: readonly string[] = SWITCHES[command];
  const given = new Set<string>();
  let claudeBinary: string | undefined;
  const rest = [...argv];
  for (let argument = rest.shift(); argument !== undefined; argument = rest.shift()) {
    if (argument === "--help" || argument === "-h") return { kind: "help", command };
    if (switches.includes(argument)) {
      given.add(argument);
    } else if (command === "doctor" && /^--claude-binary(=|$)/.test(argument)) {
      claudeBinary = argument.includes("=") ? argument.replace(/^[^=]*=/, "") : rest.shift();
      if (claudeBinary === undefined) {
        throw new CliError("Cannot read the command line: --claude-binary needs a value", {
          suggestion: "Type --claude-binary <path>",
        });
      }
    } else {
      throw new CliError(`Cannot read the command line: ${command} does not take "${argument}"`, {
        suggestion:
          `"claude-print ${command} --help" lists what it takes; a prompt goes after "--"`,
      });
    }
  }
  const json = given.has("--json");
  switch (command) {
    case "doctor":
      return {
        kind: "doctor",
        options: {
          offline: given.has("--offline"),
          run: given.has("--run"),
          json,
          ...(claudeBinary === undefined ? {} : { claudeBinary }),
        },
      };
    case "sweep":
      return { kind: "sweep", options: { dryRun: given.has("--dry-run"), json } };
  }
}
