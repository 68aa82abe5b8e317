import type { TapedLine, TapeEntry } from "../cassette_format.ts";
import { damagedLine, type ParsedLine, parseLines, partLines } from "./part_lines.ts";
import { isJsonObject, type JsonObject } from "../../../json_object.ts";
import type { AnyFrame } from "../../../claude/wire/any_frame.ts";

/** The largest tape that is held as a whole, in bytes: it takes up to three times as much memory. */
const LARGEST_TAPE = 2_000_000_000;

/**
 * Reads a tape's file as a whole, for whoever goes back and forth in it.
 *
 * @param options.largest how large it may be, in bytes
 * @returns nothing where there is no such file
 * @throws {CliError} when it is damaged, or too large to be held
 */
export function readTape(
  path: string,
  { largest = LARGEST_TAPE }: { readonly largest?: number } = {},
): readonly TapeEntry[] | undefined {
  const entries = openTape(path, { limit: largest });
  return entries && [...entries];
}

/**
 * Opens a tape's file, whose entries are read as they are gone through.
 *
 * @param options.limit the largest file that is read, in bytes
 * @returns nothing where there is no such file
 * @throws {CliError} when it is damaged, by way of what is returned
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
 * Reads the text of a tape's file: as this program or `claude-agent-cassette` writes it, as this program did at first, or
 * frames alone. What has no time is as late as what comes before it.
 *
 * @param options.path the file, for errors
 * @throws {CliError} when a line is nothing of that, with the line's number
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
 * Reads one line of it.
 *
 * @param options.last the time of the entry before
 * @throws {CliError} as `parseTape()` does
 */
export function parseTapeEntry(
  { number, value }: ParsedLine,
  { last, path }: { readonly last: number; readonly path: string },
): TapeEntry {
  const entry = isJsonObject(value) ? entryOf(value, last) : undefined;
  if (entry !== undefined) return entry;
  throw damagedLine(number, { path, what: "it is neither a frame nor a line of the caller" });
}

/** What an object on a tape is: the one that was parsed, however its fields are called. */
function entryOf(value: JsonObject, last: number): TapeEntry | undefined {
  const { dir, frame, data } = value;
  // Of a time at which there can be nothing no more is made than of one that is missing.
  const at = isTime(value["at"]) ? value["at"] : last;
  switch (dir) {
    case "read":
      return isFrame(frame) ? { at, dir, frame } : undefined;
    case "write":
      return typeof data === "string" ? lineOf(value, { at, data }) : undefined;
    case undefined:
      // The first recordings have frames with a time, those of others as they were printed.
      if (typeof value["at"] === "number" && isFrame(frame)) return { at, dir: "read", frame };
      return isFrame(value) ? { at: last, dir: "read", frame: value } : undefined;
    default:
      return undefined;
  }
}

/** Up to the latest in milliseconds since the epoch that is not hundreds of years away. */
function isTime(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value <= 1e13;
}

/** What the caller wrote; a last line may say how the program ended. */
function lineOf(
  { exit }: JsonObject,
  { at, data }: { readonly at: number; readonly data: string },
): TapedLine | undefined {
  if (exit === undefined) return { at, dir: "write", data };
  const { code, stderr } = isJsonObject(exit) ? exit : {};
  if (typeof code !== "number" || !Number.isInteger(code) || code < 0 || code > 255) {
    return undefined;
  }
  if (stderr !== undefined && typeof stderr !== "string") return undefined;
  const told = stderr === undefined ? {} : { stderr };
  return { at, dir: "write", data, exit: { code, ...told } };
}

function isFrame(value: unknown): value is AnyFrame {
  return isJsonObject(value) && typeof value["type"] === "string";
}
