import { CliError } from "../../../cli_error.ts";
import { createLineSplitter } from "../../../claude/transcript/files/line_splitter.ts";
import { LONGEST_LINE } from "../../../claude/transcript/files/longest_line.ts";
import { isTooDeep } from "../../../claude/wire/json_text.ts";
import { readRegularFile, UnfitFileError } from "../../../../ffi/files/regular_file.ts";
import { leadsOut } from "../../../../ffi/files/leads_out.ts";

/** Bytes that are read at once. */
const CHUNK = 1024 * 1024;

/** What is read, and who is told what of the lines. */
interface LineOptions {
  /** The largest file that is read, in bytes; any by default. */
  readonly limit?: number;
  readonly onBytes?: (count: number) => void;
  /** Takes what is wrong with a line, and the next one is read; without it that is the end. */
  readonly onDamage?: (error: CliError, line: number) => void;
}

/**
 * Reads a part of a cassette that holds a JSON value a line, line by line, so that it takes no more memory than its longest
 * line, however long it is.
 *
 * @param options.onBytes takes how many bytes have been read each time
 * @returns nothing where there is no such file
 * @throws {CliError} when the file cannot be read, and as `parseLines()` does, by way of what is returned
 */
export function partLines(
  path: string,
  options: LineOptions = {},
): Generator<ParsedLine, undefined> | undefined {
  const { limit = Infinity } = options;
  const first = readPart(path, { limit, most: CHUNK });
  return first && linesBehind(first, { ...options, limit, path });
}

function* linesBehind(
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

/** What parts are called: any other file is one that somebody has named. */
const PART = /(?:^|\/)(?:child\.cast|tape\.jsonl|meta\.json)$/u;

/**
 * Reads a part of a cassette, or some of it.
 *
 * @param options.limit the largest file that is read, in bytes
 * @param options.from where to begin, in bytes
 * @param options.most how many bytes are read at most; all by default
 * @returns nothing where there is no such file
 * @throws {CliError} when it cannot be read
 */
export function readPart(
  path: string,
  options: { readonly limit: number; readonly from?: number; readonly most?: number },
): Uint8Array<ArrayBuffer> | undefined {
  if (PART.test(path)) refuseLeadingOut(path);
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
 * Makes sure that what is at a path is in the cassette.
 *
 * @throws {CliError} for a link that leads out of it
 */
export function refuseLeadingOut(path: string): void {
  if (!leadsOut(path)) return;
  throw new CliError(`Cannot read ${path}: the link leads out of the cassette`, {
    suggestion: "Name the cassette that it leads to, or put in its place what it leads to",
  });
}

/** What helps where there is no cassette. */
export const NAME_A_CASSETTE = "Name the folder that a run was given with --record";

/** The error for a part that has to be there. */
export function missingPart(path: string, suggestion = NAME_A_CASSETTE): CliError {
  return new CliError(`Cannot read ${path}: it does not exist`, { suggestion });
}
