import { fileAt } from "../../../../ffi/files/at_path.ts";
import {
  API_FOLDER,
  type Cassette,
  type CassetteMeta,
  CAST_FILE,
  META_FILE,
  type PlayedCast,
  TAPE_FILE,
  type TapeEntry,
} from "../cassette_format.ts";
import { openCast } from "./read_cast.ts";
import { openTape, parseTape, readTape } from "./read_tape.ts";
import { readMeta } from "./read_meta.ts";
import { missingPart, NAME_A_CASSETTE, readPart } from "./part_lines.ts";
import { CliError } from "../../../cli_error.ts";

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

/** A recorded conversation. */
interface OpenedConversation {
  /** What is known of it; absent from recordings that were made before there was any. */
  readonly meta?: CassetteMeta;
  /** What was recorded of each Claude Code that it was held with; of one without a cast its tape. */
  readonly children: readonly OpenedChild[];
}

/** What was recorded of one Claude Code. */
type OpenedChild =
  | { readonly cast: PlayedCast }
  | { readonly tape: readonly TapeEntry[] };

/**
 * Opens a recorded conversation: the cassette in a folder, and those of further Claude Codes in its folders `2`, `3` and
 * so on; or a tape alone.
 *
 * @param options.byTape whether of each Claude Code its tape is read, where there is one, though there is a cast
 * @throws {CliError} when there is none, it is of a later format or damaged; for events by way of what is returned
 */
export function openRecorded(
  folder: string,
  { byTape = false }: { readonly byTape?: boolean } = {},
): OpenedConversation {
  if (fileAt(folder)?.isFile === true) {
    const tape = readTape(folder);
    if (tape !== undefined) return { children: [{ tape }] };
  }
  const meta = readMeta(`${folder}/${META_FILE}`);
  const children: OpenedChild[] = [];
  for (let number = 1;; number++) {
    const child = number === 1
      ? openChild(folder, byTape)
      : openFurther(`${folder}/${number}`, byTape);
    if (child === undefined) break;
    children.push(child);
  }
  if (children.length === 0) {
    throw new CliError(`Cannot read ${folder}: it has neither ${CAST_FILE} nor ${TAPE_FILE}`, {
      suggestion: NAME_A_CASSETTE,
    });
  }
  return { ...(meta === undefined ? {} : { meta }), children };
}

/** What is in a folder of the cassette's own; a link may lead anywhere. */
function openFurther(folder: string, byTape: boolean): OpenedChild | undefined {
  try {
    return Deno.lstatSync(folder).isDirectory ? openChild(folder, byTape) : undefined;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

function openChild(folder: string, byTape: boolean): OpenedChild | undefined {
  const taped = (): OpenedChild | undefined => {
    const tape = readTape(`${folder}/${TAPE_FILE}`);
    return tape && { tape };
  };
  const cast = openCast(`${folder}/${CAST_FILE}`);
  const played = cast && { cast };
  return byTape ? taped() ?? played : played ?? taped();
}
