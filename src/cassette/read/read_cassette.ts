import { type Cassette, CAST_FILE, META_FILE, TAPE_FILE } from "../cassette.ts";
import type { PlayedCast } from "../cast.ts";
import { openCast } from "./open_cast.ts";
import { parseMeta } from "./parse_meta.ts";
import { parseTape } from "./parse_tape.ts";
import { missingPart, readPart } from "./read_part.ts";

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
  const text = textOf(metaPath);
  const meta = text === undefined ? undefined : parseMeta(text, { path: metaPath });
  const cast = openCast(castPath);
  if (cast === undefined) throw missingPart(castPath);
  return {
    ...(meta === undefined ? {} : { meta }),
    cast,
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

function required(path: string): string {
  const text = textOf(path);
  if (text === undefined) throw missingPart(path);
  return text;
}

function textOf(path: string): string | undefined {
  const bytes = readPart(path, { limit: LIMIT });
  return bytes && new TextDecoder().decode(bytes);
}
