import { fileAt, namesIn } from "../../../../ffi/files/at_path.ts";
import { CliError } from "../../../cli_error.ts";
import {
  API_FOLDER,
  type CassetteMeta,
  CAST_FILE,
  type CastHeader,
  META_FILE,
  TAPE_FILE,
} from "../cassette_format.ts";
import { findCassettes } from "./find_cassettes.ts";
import { parseEvent, parseHeader } from "./read_cast.ts";
import { metaBytes, readMeta } from "./read_meta.ts";
import { parseTapeEntry } from "./read_tape.ts";
import { NAME_A_CASSETTE, partLines, refuseOutsideLink } from "./part_lines.ts";
import { asText, isJsonObject } from "../../../json_object.ts";
import { parseJsonObject } from "../../../claude/wire/json_text.ts";
import { definedFields } from "../../../defined_fields.ts";

/** The maximum number of frame kinds that are counted separately. Real runs have fewer. */
const MOST_KINDS = 200;

/** A summary of a cassette. */
export interface CassetteSurvey {
  /** The meta. For recordings older than `meta.json`, the same fields from the cast. */
  readonly meta: Partial<CassetteMeta>;
  /** The parts that exist, by name. */
  readonly parts: {
    readonly [CAST_FILE]?: { readonly bytes: number; readonly events: number };
    readonly [TAPE_FILE]?: {
      readonly bytes: number;
      /** Frames that the run printed. */
      readonly frames: number;
      /** Lines that the caller wrote. */
      readonly lines: number;
    };
    readonly [META_FILE]?: { readonly bytes: number };
    readonly [API_FOLDER]?: {
      readonly exchanges: number;
      /** Exchanges that were not complete when the run was killed; absent if there are none. */
      readonly broken?: number;
    };
  };
  /** The folders with the cassettes of further children; absent if there are none. */
  readonly further?: readonly string[];
  /** The length of the recording in milliseconds. */
  readonly durationMs: number;
  /** The number of results on the tape. */
  readonly turns: number;
  /** The number of frames of each kind on the tape, such as `system/init`. */
  readonly frames: Readonly<Record<string, number>>;
  /** How the run ended; absent if the cast is missing or stops before the end. */
  readonly ended?: { readonly how: string; readonly exitCode: number };
}

/**
 * Summarises a cassette or a tape of any size without replaying it.
 *
 * @throws {CliError} if the path has none, or a part is damaged or of a later format
 */
export function surveyCassette(folder: string): CassetteSurvey {
  if (fileAt(folder)?.isFile === true) {
    const tape = surveyTape(folder);
    if (tape !== undefined) return surveyOf({ meta: {}, tape });
  }
  requireFolder(folder);
  const metaPath = `${folder}/${META_FILE}`;
  const meta = readMeta(metaPath);
  const cast = surveyCast(`${folder}/${CAST_FILE}`);
  const tape = surveyTape(`${folder}/${TAPE_FILE}`);
  const api = surveyApi(`${folder}/${API_FOLDER}`);
  if ([meta, cast, tape, api].every((part) => part === undefined)) throw noCassette(folder);
  const further = furtherIn(folder);
  return surveyOf({
    meta: meta ?? metaOf(cast?.header),
    metaSize: metaBytes(metaPath)?.length,
    cast,
    tape,
    api,
    ...(further.length === 0 ? {} : { further }),
  });
}

/** The error for a folder that is no cassette. */
function noCassette(folder: string): CliError {
  const found = findCassettes([folder]);
  const [first] = found;
  if (first !== undefined) {
    return new CliError(
      `Cannot read ${folder}: it is no cassette, but a folder with ${found.length} of them, or of tapes`,
      { suggestion: `Name one of them, such as ${first.name}` },
    );
  }
  return new CliError(
    `Cannot read ${folder}: it is no cassette, and has none of ${CAST_FILE}, ${TAPE_FILE}, ${META_FILE} and ${API_FOLDER}`,
    { suggestion: NAME_A_CASSETTE },
  );
}

function surveyOf(
  { meta, metaSize, cast, tape, api, further }: {
    readonly meta: CassetteSurvey["meta"];
    readonly metaSize?: number | undefined;
    readonly cast?: ReturnType<typeof surveyCast>;
    readonly tape?: ReturnType<typeof surveyTape>;
    readonly api?: CassetteSurvey["parts"]["api"];
    readonly further?: readonly string[];
  },
): CassetteSurvey {
  return {
    meta,
    parts: {
      ...(cast === undefined ? {} : { [CAST_FILE]: { bytes: cast.bytes, events: cast.events } }),
      ...(tape === undefined
        ? {}
        : { [TAPE_FILE]: { bytes: tape.bytes, frames: tape.read, lines: tape.written } }),
      ...(metaSize === undefined ? {} : { [META_FILE]: { bytes: metaSize } }),
      ...(api === undefined ? {} : { [API_FOLDER]: api }),
    },
    ...definedFields({ further }),
    durationMs: Math.max(cast?.last ?? 0, tape?.last ?? 0),
    turns: tape?.turns ?? 0,
    frames: Object.fromEntries(tape?.kinds ?? []),
    ...definedFields({ ended: cast?.ended }),
  };
}

function requireFolder(folder: string): void {
  let why: string | undefined;
  try {
    why = Deno.statSync(folder).isDirectory ? undefined : "it is not a folder";
  } catch (error) {
    why = error instanceof Deno.errors.NotFound ? "it does not exist" : (error as Error).message;
  }
  if (why === undefined) return;
  throw new CliError(`Cannot read ${folder}: ${why}`, { suggestion: NAME_A_CASSETTE });
}

/** Counts exchanges by the names of their files; undefined if there is no folder. */
function surveyApi(folder: string): CassetteSurvey["parts"]["api"] {
  if (fileAt(folder)?.isDirectory !== true) return undefined;
  refuseOutsideLink(folder);
  const exchanges = namesIn(folder).filter((name) => /^[^.].*\.(?:json|part)$/u.test(name));
  const broken = exchanges.filter((name) => name.endsWith(".part")).length;
  return { exchanges: exchanges.length, ...(broken === 0 ? {} : { broken }) };
}

/** The folders of further children, in order. */
function furtherIn(folder: string): readonly string[] {
  return namesIn(folder).filter((name) =>
    /^(?:[2-9]|[1-9]\d+)$/u.test(name) && fileAt(`${folder}/${name}/${CAST_FILE}`)?.isFile === true
  ).toSorted((one, other) => Number(one) - Number(other));
}

/** The fields of a meta that a cast's header also has. */
function metaOf(header: CastHeader | undefined): Partial<CassetteMeta> {
  if (header === undefined) return {};
  const { width, height, timestamp, claude_print: { version, claude_version } } = header;
  const when = new Date(timestamp * 1000);
  return {
    ...definedFields({ claude_print: version, claude_code: claude_version }),
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
    const effect = code === "d" ? parseJsonObject(data) : undefined;
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
    const entry = parseTapeEntry(line, { path, last });
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
