import { CliError } from "../../cli_error.ts";
import { API_FOLDER, CAST_FILE, META_FILE, TAPE_FILE } from "../cassette.ts";
import type { CassetteMeta } from "../cassette_meta.ts";
import type { CastHeader } from "../cast.ts";
import { parseEvent, parseHeader } from "./parse_cast.ts";
import { parseMeta } from "./parse_meta.ts";
import { parseEntry } from "./parse_tape.ts";
import { partLines } from "./part_lines.ts";
import { NAME_A_CASSETTE, readPart } from "./read_part.ts";
import { asText, isJsonObject } from "../../transcript/json_object.ts";
import { jsonObjectIn } from "../../wire/json_object_in.ts";

/** The largest `meta.json` that is read, in bytes. */
const LARGEST_META = 1_000_000;
/** Kinds of frame that are told apart: more than there are. */
const MOST_KINDS = 200;

/** What is inside a cassette. */
export interface CassetteSurvey {
  /** What is known of it; of a recording from before there was a `meta.json`, as far as the cast says it. */
  readonly meta: Partial<CassetteMeta>;
  /** Its parts, by their names; absent ones are missing. */
  readonly parts: {
    readonly [CAST_FILE]?: { readonly bytes: number; readonly events: number };
    readonly [TAPE_FILE]?: {
      readonly bytes: number;
      /** What the caller read. */
      readonly frames: number;
      /** What it wrote. */
      readonly lines: number;
    };
    readonly [META_FILE]?: { readonly bytes: number };
    readonly [API_FOLDER]?: { readonly exchanges: number };
  };
  /** How long it was recorded, in milliseconds. */
  readonly durationMs: number;
  /** How many results there are on the tape. */
  readonly turns: number;
  /** How many frames of each type are on the tape, as in `system/init`. */
  readonly frames: Readonly<Record<string, number>>;
  /** How it ended; absent where the cast stops before that, or is missing. */
  readonly ended?: { readonly how: string; readonly exitCode: number };
}

/**
 * Looks what is inside a cassette, however large it is, without replaying it.
 *
 * @throws {CliError} when the folder is no cassette, or a part of it is of a later format or damaged
 */
export function surveyCassette(folder: string): CassetteSurvey {
  requireFolder(folder);
  const metaPath = `${folder}/${META_FILE}`;
  const metaBytes = readPart(metaPath, { limit: LARGEST_META });
  const meta = metaBytes && parseMeta(new TextDecoder().decode(metaBytes), { path: metaPath });
  const cast = surveyCast(`${folder}/${CAST_FILE}`);
  const tape = surveyTape(`${folder}/${TAPE_FILE}`);
  const exchanges = filesIn(`${folder}/${API_FOLDER}`);
  if ([meta, cast, tape, exchanges].every((part) => part === undefined)) {
    throw new CliError(
      `Cannot read ${folder}: it is no cassette, and has none of ${CAST_FILE}, ${TAPE_FILE}, ${META_FILE} and ${API_FOLDER}`,
      { suggestion: NAME_A_CASSETTE },
    );
  }
  return {
    meta: meta ?? metaOf(cast?.header),
    parts: {
      ...(cast === undefined ? {} : { [CAST_FILE]: { bytes: cast.bytes, events: cast.events } }),
      ...(tape === undefined
        ? {}
        : { [TAPE_FILE]: { bytes: tape.bytes, frames: tape.read, lines: tape.written } }),
      ...(metaBytes === undefined ? {} : { [META_FILE]: { bytes: metaBytes.length } }),
      ...(exchanges === undefined ? {} : { [API_FOLDER]: { exchanges } }),
    },
    durationMs: Math.max(cast?.last ?? 0, tape?.last ?? 0),
    turns: tape?.turns ?? 0,
    frames: Object.fromEntries(tape?.kinds ?? []),
    ...(cast?.ended === undefined ? {} : { ended: cast.ended }),
  };
}

function requireFolder(folder: string): void {
  let why: string | undefined;
  try {
    why = Deno.statSync(folder).isDirectory ? undefined : "it is no folder";
  } catch (error) {
    why = error instanceof Deno.errors.NotFound ? "it does not exist" : (error as Error).message;
  }
  if (why === undefined) return;
  throw new CliError(`Cannot read ${folder}: ${why}`, { suggestion: NAME_A_CASSETTE });
}

/** How many files there are in a folder; nothing where there is none. */
function filesIn(folder: string): number | undefined {
  try {
    return [...Deno.readDirSync(folder)].length;
  } catch {
    return undefined;
  }
}

/** What the header of a cast says of it. */
function metaOf(header: CastHeader | undefined): Partial<CassetteMeta> {
  if (header === undefined) return {};
  const { width, height, timestamp, claude_print: { version, claude_version } } = header;
  const when = new Date(timestamp * 1000);
  return {
    ...(version === undefined ? {} : { claude_print: version }),
    ...(claude_version === undefined ? {} : { claude_code: claude_version }),
    size: { cols: width, rows: height },
    ...(Number.isNaN(when.getTime()) ? {} : { when: when.toISOString() }),
  };
}

function surveyCast(path: string) {
  let bytes = 0;
  const lines = partLines(path, { onBytes: (count) => bytes += count });
  if (lines === undefined) return undefined;
  let header: CastHeader | undefined;
  let events = 0;
  let last = 0;
  let exitCode = 0;
  let ended: CassetteSurvey["ended"];
  for (const line of lines) {
    if (header === undefined) {
      header = parseHeader(line, { path });
      continue;
    }
    const { at, code, data } = parseEvent(line, { path, header, last });
    last = at;
    events++;
    const effect = code === "d" ? jsonObjectIn(data) : undefined;
    if (effect?.type === "report" && isJsonObject(effect["report"])) {
      exitCode = Number(effect["report"]["exitCode"]);
    }
    if (effect?.type === "end" && isJsonObject(effect["ending"])) {
      ended = { how: asText(effect["ending"]["kind"]), exitCode };
    }
  }
  return { bytes, header, events, last, ended };
}

function surveyTape(path: string) {
  let bytes = 0;
  const lines = partLines(path, { onBytes: (count) => bytes += count });
  if (lines === undefined) return undefined;
  const kinds = new Map<string, number>();
  let [read, written, turns, last] = [0, 0, 0, 0];
  for (const line of lines) {
    const entry = parseEntry(line, { path, last });
    last = entry.at;
    if (entry.dir === "write") {
      written++;
      continue;
    }
    read++;
    const { type, subtype } = entry.frame;
    if (type === "result") turns++;
    const named = subtype === undefined ? type : `${type}/${asText(subtype)}`;
    const kind = kinds.has(named) || kinds.size < MOST_KINDS ? named : "others";
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
  return { bytes, kinds, read, written, turns, last };
}
