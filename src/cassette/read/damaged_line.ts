import { CliError } from "../../cli_error.ts";

/** The error for a line of a cassette's file that is not what it has to be; `what` is wrong with it. */
export function damagedLine(
  line: number,
  options: { readonly path: string; readonly what: string; readonly cause?: unknown },
): CliError {
  return new CliError(`Cannot read line ${line} of ${options.path}: ${options.what}`, {
    suggestion: "Record the run again with --record, or restore the file from a copy",
    cause: options.cause,
  });
}
