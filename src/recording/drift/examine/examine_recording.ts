import { CliError } from "../../../cli_error.ts";
import { parseTapeEntry } from "../../cassette/read/read_tape.ts";
import { parseEvent, parseHeader } from "../../cassette/read/read_cast.ts";
import { type ParsedLine, partLines } from "../../cassette/read/part_lines.ts";
import type { CastHeader } from "../../cassette/cassette_format.ts";
import { asText, isJsonObject, type JsonObject } from "../../../json_object.ts";
import type { Findings } from "../findings.ts";
import { isPrinted, type KnownClaude, needed, shapeKey } from "../known.ts";
import { eventLine } from "../../relay/exchanges/event_line.ts";
import { type Exchange, joined } from "../../relay/exchanges/exchange.ts";
import { readExchanges } from "../../relay/exchanges/exchange_folder.ts";
import { isEventStream, withoutCompression } from "../../relay/exchanges/scrub_exchange.ts";
import { jsonObjectIn } from "../../../claude/wire/json_object_in.ts";
import { SCANNER_START, scanTerminal } from "../../../conversation/terminal/terminal_scanner.ts";
import type { Screen } from "../../../conversation/terminal/screen.ts";
import { rejectedFrame } from "../checks/rejected_frame.ts";
import { NOTHING_SEEN, seeEnd, type SeenDialogs, seeScreen } from "../checks/unknown_dialog.ts";
import { unknownProbe } from "../checks/unknown_probe.ts";
import type { DriftCheck, Found } from "../finding.ts";
import {
  type Piece,
  pieceOfHook,
  piecesOfAnswer,
  piecesOfEvent,
  piecesOfFrame,
  piecesOfLine,
  type PieceSort,
} from "../piece.ts";
import { readEntry } from "../../../claude/transcript/entry.ts";

/** The files of a recording. */
export interface RecordingFiles {
  readonly cast?: string | undefined;
  readonly tape?: string | undefined;
  /** The folder of its exchanges. */
  readonly api?: string | undefined;
  /** The version of Claude Code, where a file beside these says it. */
  readonly version?: string | undefined;
}

/** What of a recording was looked at. */
export interface Examined {
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
export function examineRecording(
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
  each(path, { findings, part: "tape" }, (line) => {
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
  each(path, { findings, part: "cast" }, (line) => {
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
function each(
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
    for (const value of saidIn(response)) {
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
function saidIn(
  { status, whole, ...response }: Exchange["response"],
): readonly (JsonObject | undefined)[] {
  if (status >= 400) return [];
  const { headers, chunks } = withoutCompression(response);
  const text = decoder.decode(joined(chunks));
  const lines = isEventStream(headers)
    ? text.split(/\r\n|\n|\r/u).filter((line) => line.startsWith("data:"))
    : text === ""
    ? []
    : [`data: ${text}`];
  const values = lines.map((line) => eventLine(line).value)
    .filter((value) => value === undefined || isJsonObject(value));
  return whole || values.at(-1) !== undefined ? values : values.slice(0, -1);
}

/** An event of a cast. */
interface CastEventLike {
  readonly at: number;
  readonly code: string;
  readonly data: string;
}

/** Looks at one recording, piece by piece, for what is not as it is known. */
export interface Examiner {
  /** What the caller read. */
  readonly frame: (frame: JsonObject) => readonly Found[];
  /** What is on the cast. */
  readonly event: (event: CastEventLike) => readonly Found[];
  /** What the API said: an event of a stream, or an answer that came in one. */
  readonly api: (said: JsonObject) => readonly Found[];
  /** The version of Claude Code, once it is known. */
  readonly version: () => string | undefined;
  /** Takes the version of Claude Code from where it is told, unless it is known already. */
  readonly learn: (version: unknown) => void;
}

/** @param options.version the version of Claude Code; absent where the recording has yet to say it */
export function createExaminer(
  { known, version: said, onPiece = () => {} }: {
    readonly known: KnownClaude;
    readonly version?: string | undefined;
    readonly onPiece?: (piece: Piece) => void;
  },
): Examiner {
  let version = said;
  let scanner = SCANNER_START;
  let seen: SeenDialogs = NOTHING_SEEN;
  const encoder = new TextEncoder();

  const learn = (told: unknown): void => {
    if (version === undefined && typeof told === "string") version = told;
  };
  const look = (pieces: readonly Piece[]): readonly Found[] =>
    pieces.flatMap((piece) => {
      onPiece(piece);
      return [...unknownType(piece, known), ...otherFields(piece, { known, version })];
    });
  const frame = (frame: JsonObject): readonly Found[] => {
    learn(frame.claude_code_version);
    const rejected = rejectedFrame(frame);
    const { hook_event: event } = frame;
    const hooked: readonly Found[] = typeof event === "string"
      ? unknownType({ sort: "hook", name: event, fields: [] }, known)
      : [];
    return [...rejected, ...hooked, ...look(piecesOfFrame(frame))];
  };
  const line = (value: unknown): readonly Found[] => {
    if (!isJsonObject(value)) return [];
    learn(value.version);
    return [...rejectedLine(value), ...look(piecesOfLine(value))];
  };
  const input = (value: JsonObject, at: number): readonly Found[] => {
    switch (value.type) {
      case "transcript":
      case "subagent":
        return line(value.line);
      case "earlier":
        return Array.isArray(value.lines) ? value.lines.flatMap(line) : [];
      case "hook": {
        const { event, payload } = value;
        return isJsonObject(payload) ? look([pieceOfHook(asText(event), payload)]) : [];
      }
      case "stream":
        return isJsonObject(value.part) ? look(piecesOfEvent(value.part.event)) : [];
      case "status": {
        const status = asText(value.status);
        seen = { ...seen, status };
        return look([{ sort: "status", name: status, fields: [] }]);
      }
      case "screen": {
        if (!isScreen(value.screen)) return [];
        const next = seeScreen(seen, { screen: value.screen, at });
        seen = next.seen;
        return next.found;
      }
      default:
        return [];
    }
  };
  const event = ({ at, code, data }: CastEventLike): readonly Found[] => {
    switch (code) {
      case "o": {
        const scanned = scanTerminal(scanner, encoder.encode(data));
        scanner = scanned.state;
        return scanned.tokens.flatMap((token) => unknownProbe(token, known));
      }
      case "h": {
        const value = jsonObjectIn(data);
        return value === undefined ? [] : input(value, at);
      }
      case "d": {
        const ending = jsonObjectIn(data)?.ending;
        if (!isJsonObject(ending) || ending.kind !== "dialog" || !isScreen(ending.screen)) {
          return [];
        }
        return seeEnd(seen, ending.screen);
      }
      default:
        return [];
    }
  };
  const api = (said: JsonObject): readonly Found[] =>
    look(said.type === "message" ? piecesOfAnswer(said) : piecesOfEvent(said));
  return { frame, event, api, version: () => version, learn };
}

/** Rows and columns of it may be missing: what is read is its lines and where the cursor is. */
function isScreen(value: unknown): value is Screen {
  return isJsonObject(value) && Array.isArray(value.lines) &&
    value.lines.every((line) => typeof line === "string") && isJsonObject(value.cursor) &&
    typeof value.cursor.row === "number" && typeof value.cursor.col === "number";
}

/** Lines that mean something to a run. */
const READ: readonly unknown[] = ["user", "assistant", "system", "attachment"];

/** Whether a line of a transcript is of a known type and cannot be read as one. */
function rejectedLine(line: JsonObject): readonly Found[] {
  if (!READ.includes(line.type) || readEntry(line)?.type !== "other") return [];
  return [{
    check: "frame rejected",
    where: `line ${line.type}`,
    what: "it does not look as such a line has to",
  }];
}

/** What it is called if a piece of a sort has a name that nobody knows. */
const CHECKS: Readonly<Record<PieceSort, DriftCheck | undefined>> = {
  frame: "type unknown",
  line: "type unknown",
  event: "type unknown",
  status: "type unknown",
  hook: "hook event new",
  block: "block dropped",
  part: undefined,
};

/** Whether a piece is of a type that no recording has. */
function unknownType(piece: Piece, known: KnownClaude): readonly Found[] {
  const check = CHECKS[piece.sort];
  if (check === undefined || known.shapes.has(shapeKey(piece))) return [];
  return [{ check, where: piece.sort, what: piece.name }];
}

/** Which fields of a piece no recording has, and which it lacks that it always has had. */
function otherFields(
  piece: Piece,
  { known, version }: { readonly known: KnownClaude; readonly version: string | undefined },
): readonly Found[] {
  const ever = known.shapes.get(shapeKey(piece))?.ever;
  // Of what is known by its name alone nothing can be said: of some attachments recordings keep no more.
  if (ever === undefined || [...ever].every((field) => field === "type")) return [];
  const isAttached = piece.sort === "line" && piece.name.startsWith("attachment/");
  const isNew = (field: string) =>
    !ever.has(field) && !(isAttached && known.fieldsOfLines.has(field)) &&
    !isPrinted(piece, field);
  const where = piece.sort === "part" ? piece.name : `${piece.sort} ${piece.name}`;
  const has = new Set(piece.fields);
  return [
    ...piece.fields.filter(isNew)
      .map((what) => ({ check: "field new", where, what }) as const),
    ...[...needed(known, piece, version)].filter((field) => !has.has(field))
      .map((what) => ({ check: "field gone", where, what }) as const),
  ];
}
