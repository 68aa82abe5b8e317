import { CliError } from "../../cli_error.ts";
import { type Cassette, CAST_FILE, META_FILE, TAPE_FILE } from "../cassette.ts";
import type { PlayedCast } from "../cast.ts";
import { parseEvents, parseHeader } from "./parse_cast.ts";
import { damagedLine } from "./parse_lines.ts";
import { partLines } from "./part_lines.ts";
import { parseMeta } from "./parse_meta.ts";
import { parseTape } from "./parse_tape.ts";
import { NAME_A_CASSETTE, readPart } from "./read_part.ts";

/** The largest file that is read, in bytes: the longest string that V8 makes is a little longer. */
const LIMIT = 500_000_000;

/**
 * Reads a cassette from its folder, but for the events of its cast, which are read as they are gone through.
 *
 * @throws {CliError} when a file is missing or damaged, for the events by way of what is returned
 */
export function openCassette(
  folder: string,
): Omit<Cassette, "cast"> & { readonly cast: PlayedCast } {
  const [metaPath, castPath, tapePath] = [META_FILE, CAST_FILE, TAPE_FILE].map((name) =>
    `${folder}/${name}`
  ) as [string, string, string];
  const meta = textOf(metaPath);
  return {
    ...(meta === undefined ? {} : { meta: parseMeta(meta, { path: metaPath }) }),
    cast: openCast(castPath),
    tape: parseTape(required(tapePath), { path: tapePath }),
  };
}

/**
 * Reads a cassette from its folder.
 *
 * @throws {CliError} when a file is missing or damaged
 */
export function readCassette(folder: string): Cassette {
  const { cast: { header, events }, ...rest } = openCassette(folder);
  return { ...rest, cast: { header, events: [...events] } };
}

function openCast(path: string): PlayedCast {
  const lines = partLines(path);
  if (lines === undefined) throw missing(path);
  const first = lines.next();
  if (first.done) throw damagedLine(1, { path, what: "the header is missing" });
  const header = parseHeader(first.value, { path });
  return { header, events: parseEvents(lines, { path, header }) };
}

function required(path: string): string {
  const text = textOf(path);
  if (text === undefined) throw missing(path);
  return text;
}

function missing(path: string): CliError {
  return new CliError(`Cannot read ${path}: it does not exist`, { suggestion: NAME_A_CASSETTE });
}

function textOf(path: string): string | undefined {
  const bytes = readPart(path, { limit: LIMIT });
  return bytes && new TextDecoder().decode(bytes);
}
