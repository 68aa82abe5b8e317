import { fileAt } from "../../../../ffi/files/at_path.ts";
import {
  API_FOLDER,
  type Cassette,
  type CassetteMeta,
  CAST_FILE,
  type CastReader,
  META_FILE,
  TAPE_FILE,
  type TapeEntry,
} from "../cassette_format.ts";
import { openCast } from "./read_cast.ts";
import { openTape, parseTape, readTape } from "./read_tape.ts";
import { readMeta } from "./read_meta.ts";
import { missingPart, NAME_A_CASSETTE, readPart } from "./part_lines.ts";
import { CliError } from "../../../cli_error.ts";

/** The maximum size of a tape in bytes, a little less than V8's longest string. */
const LIMIT = 500_000_000;

/** A cassette whose cast is read while it is iterated. */
interface OpenCassette extends Omit<Cassette, "cast"> {
  readonly cast: CastReader;
}

/**
 * Opens a cassette that has a tape.
 *
 * @throws {CliError} if a file is missing or damaged; for events while they are iterated
 */
export function openCassette(folder: string): OpenCassette {
  const { tape, ...rest } = openForReplay(folder);
  if (tape === undefined) throw missingPart(`${folder}/${TAPE_FILE}`);
  return { ...rest, tape };
}

/**
 * Opens the parts of a cassette that a replay needs. Without the tape, it is unknown what the run printed.
 *
 * @throws {CliError} if the cast is missing, or a file is damaged; for events while they are iterated
 */
export function openForReplay(
  folder: string,
): Omit<OpenCassette, "tape"> & Partial<Pick<OpenCassette, "tape">> {
  const [metaPath, castPath, tapePath] = [META_FILE, CAST_FILE, TAPE_FILE].map((name) =>
    `${folder}/${name}`
  ) as [string, string, string];
  const meta = readMeta(metaPath);
  const cast = openCast(castPath);
  if (cast === undefined) throw missingPart(castPath, suggestionWithoutCast(folder));
  const taped = readTextPart(tapePath);
  return {
    ...(meta === undefined ? {} : { meta }),
    cast,
    ...(taped === undefined ? {} : { tape: parseTape(taped, { path: tapePath }) }),
  };
}

/** A cassette that is read again in each iteration, and never kept in memory. */
interface RereadableCassette {
  readonly cast: CastReader;
  readonly tape: Iterable<TapeEntry>;
}

/**
 * Opens a cassette that can be iterated several times, however long it is.
 *
 * @throws {CliError} if a file is missing or damaged; for events and entries while they are iterated
 */
export function openRereadable(folder: string): RereadableCassette {
  const [castPath, tapePath] = [`${folder}/${CAST_FILE}`, `${folder}/${TAPE_FILE}`];
  readMeta(`${folder}/${META_FILE}`);
  const open = () => openCast(castPath) ?? missing(castPath, suggestionWithoutCast(folder));
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

/** Suggests how to replay a folder without a cast. */
function suggestionWithoutCast(folder: string): string | undefined {
  const isThere = (name: string) => fileAt(`${folder}/${name}`) !== undefined;
  if (isThere(TAPE_FILE)) {
    return 'It replays in the place of claude: write "--" behind it, and what a caller gives claude';
  }
  return isThere(API_FOLDER)
    ? "It replays as the API: give it to claude-print relay --cache"
    : undefined;
}

function readTextPart(path: string): string | undefined {
  const bytes = readPart(path, { limit: LIMIT });
  return bytes && new TextDecoder().decode(bytes);
}

interface RecordedConversation {
  /** Absent from recordings older than `meta.json`. */
  readonly meta?: CassetteMeta;
  /** The children of the conversation, in order: each child's cast, or its tape if there is no cast. */
  readonly children: readonly RecordedChild[];
}

type RecordedChild =
  | { readonly cast: CastReader }
  | { readonly tape: readonly TapeEntry[] };

/**
 * Opens a recorded conversation: the cassette in a folder, and those of later children in its folders `2`, `3` and so
 * on; or a tape.
 *
 * @param options.byTape whether to prefer tapes to casts
 * @throws {CliError} if there is no part, or one is damaged or of a later format; for events while they are iterated
 */
export function openConversation(
  folder: string,
  { byTape = false }: { readonly byTape?: boolean } = {},
): RecordedConversation {
  if (fileAt(folder)?.isFile === true) {
    const tape = readTape(folder);
    if (tape !== undefined) return { children: [{ tape }] };
  }
  const meta = readMeta(`${folder}/${META_FILE}`);
  const children: RecordedChild[] = [];
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

/** Opens a folder inside the cassette. A link may lead to any folder, so it does not count. */
function openFurther(folder: string, byTape: boolean): RecordedChild | undefined {
  try {
    return Deno.lstatSync(folder).isDirectory ? openChild(folder, byTape) : undefined;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

function openChild(folder: string, byTape: boolean): RecordedChild | undefined {
  const taped = (): RecordedChild | undefined => {
    const tape = readTape(`${folder}/${TAPE_FILE}`);
    return tape && { tape };
  };
  const cast = openCast(`${folder}/${CAST_FILE}`);
  const played = cast && { cast };
  return byTape ? taped() ?? played : played ?? taped();
}
