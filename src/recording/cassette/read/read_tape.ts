import type { TapedLine, TapeEntry } from "../cassette_format.ts";
import { damagedLine, type ParsedLine, parseLines, partLines } from "./part_lines.ts";
import { isJsonObject, type JsonObject } from "../../../json_object.ts";
import type { AnyFrame } from "../../../claude/wire/any_frame.ts";

/** The maximum size in bytes of a tape that is read into memory, where it takes up to three times its size. */
const LARGEST_TAPE = 2_000_000_000;

/**
 * Reads a complete tape into memory.
 *
 * @param options.largest the largest file in bytes
 * @returns undefined if the file does not exist
 * @throws {CliError} if the tape is damaged or too large
 */
export function readTape(
  path: string,
  { largest = LARGEST_TAPE }: { readonly largest?: number } = {},
): readonly TapeEntry[] | undefined {
  const entries = openTape(path, { limit: largest });
  return entries && [...entries];
}

/**
 * Opens a tape whose entries are read while they are iterated.
 *
 * @param options.limit the largest file in bytes
 * @returns undefined if the file does not exist
 * @throws {CliError} for a damaged line, while iterating
 */
export function openTape(
  path: string,
  options: { readonly limit?: number } = {},
): Generator<TapeEntry, undefined> | undefined {
  const lines = partLines(path, options);
  return lines && entriesIn(lines, path);
}

function* entriesIn(
  lines: Iterable<ParsedLine>,
  path: string,
): Generator<TapeEntry, undefined> {
  let last = 0;
  for (const line of lines) {
    const entry = parseTapeEntry(line, { path, last });
    last = entry.at;
    yield entry;
  }
  return undefined;
}

/**
 * Parses a complete tape in one of three formats: the format of this program and of `claude-agent-cassette`, that of
 * the first recordings, or frames without times. An entry without a time has the time of the previous entry.
 *
 * @param options.path the file, for errors
 * @throws {CliError} if a line is invalid, with its number
 */
export function parseTape(
  text: string,
  options: { readonly path: string },
): readonly TapeEntry[] {
  let last = 0;
  return parseLines(text, options).map((line) => {
    const entry = parseTapeEntry(line, { ...options, last });
    last = entry.at;
    return entry;
  });
}

/**
 * Parses one line of a tape.
 *
 * @param options.last the time of the previous entry
 * @throws {CliError} if the line is invalid
 */
export function parseTapeEntry(
  { number, value }: ParsedLine,
  { last, path }: { readonly last: number; readonly path: string },
): TapeEntry {
  const entry = isJsonObject(value) ? tapeEntry(value, last) : undefined;
  if (entry !== undefined) return entry;
  throw damagedLine(number, { path, what: "it is neither a frame nor a line of the caller" });
}

/** Converts an object in any of the formats to an entry. Keeps the identity of the frame. */
function tapeEntry(value: JsonObject, last: number): TapeEntry | undefined {
  const { dir, frame, data } = value;
  // An impossible time counts as missing.
  const at = isTime(value["at"]) ? value["at"] : last;
  switch (dir) {
    case "read":
      return isFrame(frame) ? { at, dir, frame } : undefined;
    case "write":
      return typeof data === "string" ? tapedLine(value, { at, data }) : undefined;
    case undefined:
      // The first recordings have frames with a time; other programs' tapes have frames as they were printed.
      if (typeof value["at"] === "number" && isFrame(frame)) return { at, dir: "read", frame };
      return isFrame(value) ? { at: last, dir: "read", frame: value } : undefined;
    default:
      return undefined;
  }
}

/** Accepts milliseconds since the epoch up to the year 2286. */
function isTime(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value <= 1e13;
}

/** A caller line. The last line may describe how the program ended. */
function tapedLine(
  { exit }: JsonObject,
  { at, data }: { readonly at: number; readonly data: string },
): TapedLine | undefined {
  if (exit === undefined) return { at, dir: "write", data };
  const { code, stderr } = isJsonObject(exit) ? exit : {};
  if (typeof code !== "number" || !Number.isInteger(code) || code < 0 || code > 255) {
    return undefined;
  }
  if (stderr !== undefined && typeof stderr !== "string") return undefined;
  return { at, dir: "write", data, exit: { code, ...(stderr === undefined ? {} : { stderr }) } };
}

function isFrame(value: unknown): value is AnyFrame {
  return isJsonObject(value) && typeof value["type"] === "string";
}
