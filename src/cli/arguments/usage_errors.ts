import { CliError, UnsupportedError } from "../../cli_error.ts";

/** The error for a flag, or a flag's value, that is not supported. */
export function refusalError(what: string, reason: string): CliError {
  return new UnsupportedError(`Cannot honour ${what}: ${reason}`, {
    suggestion: "Leave it out",
  });
}

/** The error for an invalid command line. */
export function usageError(problem: string, suggestion: string): CliError {
  return new CliError(problem, { suggestion });
}

/** The error for `--switch=value`. */
export function switchValueError(name: string): CliError {
  return usageError(`${name} takes no value`, `Type ${name} alone`);
}
