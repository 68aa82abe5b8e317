import { CliError } from "../../../cli_error.ts";
import { createLineSplitter, LONGEST_LINE } from "../../../claude/transcript/line_splitter.ts";
import { isTooDeep } from "../../../claude/wire/json_text.ts";
import { readRegularFile, UnfitFileError } from "../../../../ffi/files/regular_file.ts";
import { linksOutside } from "../../../../ffi/files/at_path.ts";

const CHUNK = 1024 * 1024;

interface LineOptions {
  /** The maximum size of a file in bytes; unlimited by default. */
  readonly limit?: number;
  readonly onBytes?: (count: number) => void;
  /** Receives the error of a damaged line, after which reading continues. Without it, the error is thrown. */
  readonly onDamage?: (error: CliError, line: number) => void;
}

/**
 * Reads a part with one JSON value in each line, while it is iterated. It keeps only one line in memory.
 *
 * @param options.onBytes receives the number of bytes after each read
 * @returns undefined if the file does not exist
 * @throws {CliError} if the file cannot be read; for a damaged line while iterating
 */
export function partLines(
  path: string,
  options: LineOptions = {},
): Generator<ParsedLine, undefined> | undefined {
  const { limit = Infinity } = options;
  const first = readPart(path, { limit, most: CHUNK });
  return first && linesFrom(first, { ...options, limit, path });
}

function* linesFrom(
  first: Uint8Array<ArrayBuffer>,
  { path, limit, onBytes = () => {}, onDamage }: LineOptions & {
    readonly path: string;
    readonly limit: number;
  },
): Generator<ParsedLine, undefined> {
  const splitter = createLineSplitter();
  const read = (line: string, number: number, isLast: boolean): ParsedLine | undefined => {
    try {
      return parseLine(line, { number, path, isLast });
    } catch (error) {
      if (onDamage === undefined || !(error instanceof CliError)) throw error;
      onDamage(error, number);
      return undefined;
    }
  };
  let number = 0;
  let from = 0;
  for (let chunk = first; chunk.length > 0;) {
    onBytes(chunk.length);
    from += chunk.length;
    for (const line of splitter.push(chunk)) {
      number++;
      const parsed = read(line, number, false);
      if (parsed !== undefined) yield parsed;
    }
    if (splitter.pending() > LONGEST_LINE) {
      throw damagedLine(number + 1, { path, what: "it is longer than any run writes" });
    }
    chunk = readPart(path, { limit, from, most: CHUNK }) ?? new Uint8Array();
  }
  const last = read(splitter.remainder(), number + 1, true);
  if (last !== undefined) yield last;
  return undefined;
}

/** A line of a cassette's file with its JSON value. */
export interface ParsedLine {
  /** The number of the line, counted from 1. */
  readonly number: number;
  /** The line without its line end. */
  readonly text: string;
  readonly value: unknown;
}

/**
 * Parses a text with one JSON value in each line. Skips empty lines.
 *
 * @param options.path the file, for errors
 * @throws {CliError} if a line is no JSON or nested too deeply, or the last one was cut short
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
 * Parses one line.
 *
 * @param options.isLast whether the line has no line end
 * @returns undefined for an empty line
 * @throws {CliError} as `parseLines()` does
 */
function parseLine(
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

/** The error for an invalid line; `what` describes the fault. */
export function damagedLine(
  line: number,
  options: { readonly path: string; readonly what: string; readonly cause?: unknown },
): CliError {
  return new CliError(`Cannot read line ${line} of ${options.path}: ${options.what}`, {
    suggestion: "Record the run again with --record, or restore the file from a copy",
    cause: options.cause,
  });
}

/** Names of parts. A user may name any other file, and then links are allowed. */
const PART = /(?:^|\/)(?:child\.cast|tape\.jsonl|meta\.json)$/u;

/**
 * Reads a part of a cassette, or a section of it.
 *
 * @param options.limit the maximum size of the file in bytes
 * @param options.from the first byte
 * @param options.most the maximum number of bytes to read; all by default
 * @returns undefined if the file does not exist
 * @throws {CliError} if the file cannot be read
 */
export function readPart(
  path: string,
  options: { readonly limit: number; readonly from?: number; readonly most?: number },
): Uint8Array<ArrayBuffer> | undefined {
  if (PART.test(path)) refuseOutsideLink(path);
  try {
    return readRegularFile(path, options);
  } catch (cause) {
    if (cause instanceof Deno.errors.NotFound) return undefined;
    if (!(cause instanceof UnfitFileError)) throw cause;
    throw new CliError(`Cannot read ${path}: ${cause.reason}`, {
      suggestion: NAME_A_CASSETTE,
      cause,
    });
  }
}

/**
 * Throws for a link that leads out of the cassette.
 *
 * @throws {CliError} with the path of the link
 */
export function refuseOutsideLink(path: string): void {
  if (!linksOutside(path)) return;
  throw new CliError(`Cannot read ${path}: the link leads out of the cassette`, {
    suggestion: "Name the cassette that it leads to, or put in its place what it leads to",
  });
}

/** The suggestion for a path without a cassette. */
export const NAME_A_CASSETTE = "Name the folder that a run was given with --record";

/** The error for a missing part. */
export function missingPart(path: string, suggestion = NAME_A_CASSETTE): CliError {
  return new CliError(`Cannot read ${path}: it does not exist`, { suggestion });
}
