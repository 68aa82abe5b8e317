import { fileAt } from "../../../../ffi/files/at_path.ts";
import {
  API_FOLDER,
  type Cassette,
  CAST_FILE,
  META_FILE,
  TAPE_FILE,
  type TapeEntry,
} from "../cassette.ts";
import type { PlayedCast } from "../cast.ts";
import { openCast } from "./open_cast.ts";
import { openTape } from "./open_tape.ts";
import { readMeta } from "./read_meta.ts";
import { parseTape } from "./parse_tape.ts";
import { missingPart, readPart } from "./read_part.ts";

/** The largest file that is read, in bytes: the longest string that V8 makes is a little longer. */
const LIMIT = 500_000_000;

/** A cassette whose events are read as they are gone through. */
export interface OpenCassette extends Omit<Cassette, "cast"> {
  readonly cast: PlayedCast;
}

/**
 * Reads a cassette from its folder, but for the events of its cast, which are read as they are gone through.
 *
 * @throws {CliError} when a file is missing or damaged, for the events by way of what is returned
 */
export function openCassette(folder: string): OpenCassette {
  const { tape, ...rest } = openToReplay(folder);
  if (tape === undefined) throw missingPart(`${folder}/${TAPE_FILE}`);
  return { ...rest, tape };
}

/**
 * Opens as much of a cassette as there is to be replayed: without its tape nothing is known of what was printed.
 *
 * @throws {CliError} when the cast is missing, or a file is damaged, for the events by way of what is returned
 */
export function openToReplay(
  folder: string,
): Omit<OpenCassette, "tape"> & Partial<Pick<OpenCassette, "tape">> {
  const [metaPath, castPath, tapePath] = [META_FILE, CAST_FILE, TAPE_FILE].map((name) =>
    `${folder}/${name}`
  ) as [string, string, string];
  const meta = readMeta(metaPath);
  const cast = openCast(castPath);
  if (cast === undefined) throw missingPart(castPath, wayWithoutCast(folder));
  const taped = textOf(tapePath);
  return {
    ...(meta === undefined ? {} : { meta }),
    cast,
    ...(taped === undefined ? {} : { tape: parseTape(taped, { path: tapePath }) }),
  };
}

/** A cassette of which no more is kept than is being looked at; each time that it is gone through, it is read anew. */
export interface RereadCassette {
  readonly cast: PlayedCast;
  readonly tape: Iterable<TapeEntry>;
}

/**
 * Opens a cassette that is gone through several times, however long it is.
 *
 * @throws {CliError} when a file is missing or damaged, also by way of what is returned
 */
export function rereadCassette(folder: string): RereadCassette {
  const [castPath, tapePath] = [`${folder}/${CAST_FILE}`, `${folder}/${TAPE_FILE}`];
  readMeta(`${folder}/${META_FILE}`);
  const open = () => openCast(castPath) ?? missing(castPath, wayWithoutCast(folder));
  const tape = () => openTape(tapePath) ?? missing(tapePath);
  tape();
  return {
    cast: {
      header: open().header,
      events: { [Symbol.iterator]: () => open().events[Symbol.iterator]() },
    },
    tape: { [Symbol.iterator]: tape },
  };
}

function missing(path: string, suggestion?: string): never {
  throw missingPart(path, suggestion);
}

/** How something is replayed of a folder that has no cast. */
function wayWithoutCast(folder: string): string | undefined {
  const isThere = (name: string) => fileAt(`${folder}/${name}`) !== undefined;
  if (isThere(TAPE_FILE)) {
    return 'It replays in the place of claude: write "--" behind it, and what a caller gives claude';
  }
  return isThere(API_FOLDER)
    ? "It replays as the API: give it to claude-print relay --cache"
    : undefined;
}

function textOf(path: string): string | undefined {
  const bytes = readPart(path, { limit: LIMIT });
  return bytes && new TextDecoder().decode(bytes);
}
