import { CliError } from "../../cli_error.ts";
import { parseTapeEntry } from "../cassette/read/read_tape.ts";
import { parseEvent, parseHeader } from "../cassette/read/read_cast.ts";
import { type ParsedLine, partLines } from "../cassette/read/part_lines.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";
import { RecordingExaminer } from "./find_drift.ts";
import type { Findings, Place } from "./findings.ts";
import type { KnownClaude } from "./known_shapes.ts";
import { parseEventLine } from "../relay/event_lines.ts";
import { type Exchange, joinChunks } from "../relay/exchange.ts";
import { readExchanges } from "../relay/exchange_folder.ts";
import { decompress, isEventStream } from "../relay/scrub_exchange.ts";
import {
  API_FOLDER,
  type CassetteMeta,
  CAST_FILE,
  type CastHeader,
  META_FILE,
  TAPE_FILE,
} from "../cassette/cassette_format.ts";
import type { FoundCassette } from "../cassette/read/find_cassettes.ts";
import { readMeta } from "../cassette/read/read_meta.ts";

interface RecordingFiles {
  readonly cast?: string | undefined;
  readonly tape?: string | undefined;
  /** The folder of its exchanges. */
  readonly api?: string | undefined;
  /** The version of Claude Code, if `meta.json` says it. */
  readonly version?: string | undefined;
}

/** The contents of a recording. */
interface Examined {
  readonly version: string | undefined;
  readonly frames: number;
  readonly events: number;
  /** Responses of the model. */
  readonly answers: number;
}

/**
 * Examines the files of one recording, line by line.
 *
 * @param options.onFrame receives each frame and its line
 * @throws {CliError} when a file cannot be read at all
 */
function examineRecording(
  { cast, tape, api, version }: RecordingFiles,
  { known, findings, onFrame = () => {} }: {
    readonly known: KnownClaude;
    readonly findings: Findings;
    readonly onFrame?: (frame: JsonObject, line: number) => void;
  },
): Examined {
  // The cast is first, because it names the version of Claude Code at its beginning.
  const examiner = new RecordingExaminer({ known, version });
  const events = cast === undefined ? 0 : examineCast(cast, { examiner, findings });
  const frames = tape === undefined ? 0 : examineTape(tape, { examiner, findings, onFrame });
  const answers = api === undefined ? 0 : examineApi(api, { examiner, findings });
  return { version: examiner.version(), frames, events, answers };
}

interface Looking {
  readonly examiner: RecordingExaminer;
  readonly findings: Findings;
}

function examineTape(
  path: string,
  { examiner, findings, onFrame }: Looking & {
    readonly onFrame: (frame: JsonObject, line: number) => void;
  },
): number {
  let frames = 0;
  let last = 0;
  forEachLine(path, { findings, part: "tape" }, (line) => {
    const entry = parseTapeEntry(line, { path, last });
    last = entry.at;
    if (entry.dir !== "read") return;
    frames++;
    const place = { path, line: line.number };
    for (const found of examiner.frame(entry.frame)) findings.add(found, { place });
    onFrame(entry.frame, line.number);
  });
  return frames;
}

function examineCast(path: string, { examiner, findings }: Looking): number {
  let header: CastHeader | undefined;
  let isForeign = false;
  let events = 0;
  let last = 0;
  forEachLine(path, { findings, part: "cast" }, (line) => {
    if (isForeign) return;
    if (header === undefined) {
      isForeign = true;
      header = parseHeader(line, { path });
      isForeign = false;
      examiner.learn(header.claude_print.claude_version);
      return;
    }
    const event = parseEvent(line, { path, header, last });
    last = event.at;
    events++;
    const place = { path, line: line.number };
    for (const found of examiner.event(event)) findings.add(found, { place });
  });
  return events;
}

/** Reads the lines of a file. A damaged line becomes a finding, and the next one is read. */
function forEachLine(
  path: string,
  { findings, part }: { readonly findings: Findings; readonly part: string },
  take: (line: ParsedLine) => void,
): void {
  const damaged = (error: CliError, line: number): void => {
    // The message begins with the place, which is reported anyway.
    const what = error.message.slice(error.message.indexOf(`${path}: `) + path.length + 2);
    findings.add({ check: "frame rejected", where: `line of the ${part}`, what }, {
      place: { path, line },
    });
  };
  const lines = partLines(path, { onDamage: damaged });
  if (lines === undefined) return;
  for (const line of lines) {
    try {
      take(line);
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      damaged(error, line.number);
    }
  }
}

/** A request to the model. */
const MODEL_REQUEST = /\/v1\/messages(?:\?|$)/u;
/** The version of Claude Code in the system prompt of a request. */
const VERSION = /\bcc_version=(\d+\.\d+\.\d+)/u;

/**
 * Examines the responses in a folder of exchanges.
 *
 * @returns how many responses were examined
 * @throws {CliError} when an exchange cannot be read
 */
function examineApi(
  folder: string,
  { examiner, findings }: { readonly examiner: RecordingExaminer; readonly findings: Findings },
): number {
  let answers = 0;
  for (const { name, exchange: { request, response } } of readExchanges(folder)) {
    if (request.method !== "POST" || !MODEL_REQUEST.test(request.path)) continue;
    examiner.learn(VERSION.exec(decoder.decode(request.body))?.[1]);
    let count = 0;
    const place = { path: `${folder}/${name}`, line: 0 };
    for (const value of answersIn(response)) {
      count++;
      if (value === undefined) {
        findings.add(UNREADABLE, { place });
        continue;
      }
      for (const found of examiner.api(value)) findings.add(found, { place });
    }
    if (count > 0) answers++;
  }
  return answers;
}

const decoder = new TextDecoder();

const UNREADABLE = {
  check: "frame rejected",
  where: "answer of the API",
  what: "it cannot be read as JSON",
} as const;

/**
 * Returns the events of a response, or its only object; undefined for one that is not JSON. Errors of the API are
 * skipped, and so is the last, incomplete line of a response that broke off.
 */
function answersIn(
  { status, whole, ...response }: Exchange["response"],
): readonly (JsonObject | undefined)[] {
  if (status >= 400) return [];
  const { headers, chunks } = decompress(response);
  const text = decoder.decode(joinChunks(chunks));
  const lines = isEventStream(headers)
    ? text.split(/\r\n|\n|\r/u).filter((line) => line.startsWith("data:"))
    : text === ""
    ? []
    : [`data: ${text}`];
  const values = lines.map((line) => parseEventLine(line).value)
    .filter((value) => value === undefined || isJsonObject(value));
  return whole || values.at(-1) !== undefined ? values : values.slice(0, -1);
}

/** The maximum number of shown characters of a version. */
const LONGEST_VERSION = 40;

/** The contents of all recordings. */
interface Checked {
  /** Cassettes and tapes that were not empty. */
  readonly recordings: number;
  readonly frames: number;
  /** Events of casts. */
  readonly events: number;
  /** Responses of the model. */
  readonly answers: number;
  /** Cassettes and tapes in which nothing was found to examine. */
  readonly empty: readonly string[];
  /** The number of recordings of each version of Claude Code; "" if unknown. */
  readonly versions: ReadonlyMap<string, number>;
}

/** Receives each frame, to be compared with an SDK. */
export type OnFrame = (frame: JsonObject, place: Place) => void;

/** Examines cassettes and tapes. */
export function examineRecordings(
  cassettes: readonly FoundCassette[],
  { known, findings, onFrame = () => {} }: {
    readonly known: KnownClaude;
    readonly findings: Findings;
    readonly onFrame?: OnFrame;
  },
): Checked {
  let recordings = 0;
  let frames = 0;
  let events = 0;
  let answers = 0;
  const empty: string[] = [];
  const versions = new Map<string, number>();
  for (const cassette of cassettes) {
    const files = filesOf(cassette, findings);
    if (files === undefined) continue;
    const { tape = "" } = files;
    const found = readOrReport(cassette.path, findings, () =>
      examineRecording(files, {
        known,
        findings,
        onFrame: (frame, line) => onFrame(frame, { path: tape, line }),
      }));
    if (found === undefined) continue;
    if (found.frames + found.events + found.answers === 0) {
      empty.push(cassette.path);
      continue;
    }
    recordings++;
    frames += found.frames;
    events += found.events;
    answers += found.answers;
    const version = (found.version ?? "").slice(0, LONGEST_VERSION);
    versions.set(version, (versions.get(version) ?? 0) + 1);
  }
  return { recordings, frames, events, answers, empty, versions };
}

/** Returns the files of a cassette; undefined if its format is unknown. */
function filesOf({ kind, path }: FoundCassette, findings: Findings) {
  if (kind === "tape") return { tape: path };
  const meta = `${path}/${META_FILE}`;
  const read = readOrReport<Partial<CassetteMeta>>(meta, findings, () => readMeta(meta) ?? {});
  return read && {
    cast: `${path}/${CAST_FILE}`,
    tape: `${path}/${TAPE_FILE}`,
    api: `${path}/${API_FOLDER}`,
    version: read.claude_code,
  };
}

/** Returns what is read. An error becomes a finding. */
function readOrReport<Value>(
  path: string,
  findings: Findings,
  read: () => Value,
): Value | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    const place = { path, line: 0 };
    findings.add({ check: "frame rejected", where: "file", what: error.message }, { place });
    return undefined;
  }
}
