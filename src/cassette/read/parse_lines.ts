import { isTooDeep } from "../../wire/json_text.ts";
import { CliError } from "../../cli_error.ts";

/**
 * Reads a text that holds a JSON value a line.
 *
 * @param options.path the file, for errors
 * @throws {CliError} when a line is no JSON or nested too deeply, or the last one was cut short
 */
export function parseLines(text: string, options: { readonly path: string }): readonly unknown[] {
  const lines = text.split("\n");
  const rest = lines.pop() ?? "";
  if (rest !== "") throw damagedLine(lines.length + 1, { ...options, what: "it was cut short" });
  return lines.map((line, index): unknown => {
    if (isTooDeep(line)) {
      throw damagedLine(index + 1, { ...options, what: "it is nested too deeply" });
    }
    try {
      return JSON.parse(line);
    } catch (cause) {
      throw damagedLine(index + 1, { ...options, what: "it is not JSON", cause });
    }
  });
}

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
