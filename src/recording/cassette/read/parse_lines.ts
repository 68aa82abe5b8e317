import { isTooDeep } from "../../../claude/wire/json_text.ts";
import { CliError } from "../../../cli_error.ts";

/** A line of a cassette's file, and the JSON value in it. */
export interface ParsedLine {
  /** From 1 on. */
  readonly number: number;
  /** Without its end. */
  readonly text: string;
  readonly value: unknown;
}

/**
 * Reads a text that holds a JSON value a line; empty lines are passed over.
 *
 * @param options.path the file, for errors
 * @throws {CliError} when a line is no JSON or nested too deeply, or the last one was cut short
 */
export function parseLines(
  text: string,
  options: { readonly path: string },
): readonly ParsedLine[] {
  const lines = text.split("\n");
  return lines.flatMap((line, index) =>
    parseLine(line, { ...options, number: index + 1, isLast: index === lines.length - 1 }) ?? []
  );
}

/**
 * Reads one of these lines.
 *
 * @param options.isLast whether no line ends behind it
 * @returns undefined for an empty line
 * @throws {CliError} as `parseLines()` does
 */
export function parseLine(
  line: string,
  { number, isLast, path }: {
    readonly number: number;
    readonly isLast: boolean;
    readonly path: string;
  },
): ParsedLine | undefined {
  if (line.trim() === "") return undefined;
  if (isTooDeep(line)) throw damagedLine(number, { path, what: "it is nested too deeply" });
  try {
    return { number, text: line, value: JSON.parse(line) };
  } catch (cause) {
    if (!isLast) throw damagedLine(number, { path, what: "it is not JSON", cause });
    throw new CliError(`Cannot read line ${number} of ${path}: it was cut short`, {
      suggestion: "Remove that line, if the run was killed while it was recorded",
      cause,
    });
  }
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
