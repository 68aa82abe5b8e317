import { CliError } from "../../cli_error.ts";
import { parseTapeEntry } from "../cassette/read/read_tape.ts";
import { parseEvent, parseHeader } from "../cassette/read/read_cast.ts";
import { type ParsedLine, partLines } from "../cassette/read/part_lines.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";
import { createExaminer, type Examiner } from "./find_drift.ts";
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

/** The files of a recording. */
interface RecordingFiles {
  readonly cast?: string | undefined;
  readonly tape?: string | undefined;
  /** The folder of its exchanges. */
  readonly api?: string | undefined;
  /** The version of Claude Code, where a file beside these says it. */
  readonly version?: string | undefined;
}

/** What of a recording was looked at. */
interface Examined {
  readonly version: string | undefined;
  readonly frames: number;
  readonly events: number;
  /** Answers of the model. */
  readonly answers: number;
}

/**
 * Looks at all that is in a recording, however large it is.
 *
 * @param options.onFrame takes each frame with its line
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
  // The cast is first: it says earlier which version of Claude Code it is.
  const examiner = createExaminer({ known, version });
  const events = cast === undefined ? 0 : examineCast(cast, { examiner, findings });
  const frames = tape === undefined ? 0 : examineTape(tape, { examiner, findings, onFrame });
  const answers = api === undefined ? 0 : examineApi(api, { examiner, findings });
  return { version: examiner.version(), frames, events, answers };
}

interface Looking {
  readonly examiner: Examiner;
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

/** Goes through the lines of a file. What is wrong with one is found, and the next one is read. */
function forEachLine(
  path: string,
  { findings, part }: { readonly findings: Findings; readonly part: string },
  take: (line: ParsedLine) => void,
): void {
  const damaged = (error: CliError, line: number): void => {
    // Beside the place, which is told anyway, an error of a line says what is wrong behind the last colon.
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

/** A request of the model itself. */
const MODEL_REQUEST = /\/v1\/messages(?:\?|$)/u;
/** How Claude Code says in a request which version it is. */
const VERSION = /\bcc_version=(\d+\.\d+\.\d+)/u;

/**
 * Looks at what the model said in the exchanges of a folder.
 *
 * @returns how many answers were looked at
 * @throws {CliError} when an exchange cannot be read
 */
function examineApi(
  folder: string,
  { examiner, findings }: { readonly examiner: Examiner; readonly findings: Findings },
): number {
  let answers = 0;
  for (const { name, exchange: { request, response } } of readExchanges(folder)) {
    if (request.method !== "POST" || !MODEL_REQUEST.test(request.path)) continue;
    examiner.learn(VERSION.exec(decoder.decode(request.body))?.[1]);
    let said = 0;
    const place = { path: `${folder}/${name}`, line: 0 };
    for (const value of answersIn(response)) {
      said++;
      if (value === undefined) {
        findings.add(UNREADABLE, { place });
        continue;
      }
      for (const found of examiner.api(value)) findings.add(found, { place });
    }
    if (said > 0) answers++;
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
 * The events of an answer, or the one object that it is; nothing in the place of one that cannot be read. Errors are no
 * answers, and where an answer breaks off, its last line is none.
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

/** Most characters of a version that is told. */
const LONGEST_VERSION = 40;

/** What was looked at. */
interface Checked {
  /** Cassettes and tapes in which there was something. */
  readonly recordings: number;
  readonly frames: number;
  /** Events of terminals. */
  readonly events: number;
  /** Answers of the model. */
  readonly answers: number;
  /** Cassettes and tapes in which there was nothing. */
  readonly empty: readonly string[];
  /** How many recordings there are of each version of Claude Code; of an unknown one by "". */
  readonly versions: ReadonlyMap<string, number>;
}

/** Who else looks at frames. */
export type OnFrame = (frame: JsonObject, place: Place) => void;

/** Looks at all that is in cassettes and tapes. */
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

/** Where the parts of a cassette are; nothing of one that is not of a known format. */
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

/** What is read, or nothing: then it is found why. */
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
