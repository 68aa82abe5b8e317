import { asText, isJsonObject, type JsonObject } from "../../json_object.ts";
import { isPrintedField, type KnownClaude, requiredFields, shapeKey } from "./known_shapes.ts";
import { parseJsonObject } from "../../claude/wire/json_text.ts";
import {
  SCANNER_START,
  scanTerminal,
  type TerminalToken,
} from "../../conversation/terminal/terminal_scanner.ts";
import { readEntry } from "../../claude/transcript/entry.ts";
import { isBlank, type Screen } from "../../conversation/terminal/screen.ts";
import type { Drift, DriftCheck } from "./findings.ts";
import {
  frameName,
  type Piece,
  pieceOfHook,
  piecesOfAnswer,
  piecesOfEvent,
  piecesOfFrame,
  piecesOfLine,
  type PieceSort,
} from "./pieces.ts";
import { z } from "zod/mini";
import { readChoices } from "../../conversation/terminal/choices.ts";
import type { Dialog } from "../../conversation/terminal/dialogs.ts";
import { recogniseDialog } from "../../conversation/terminal/recognise_dialog.ts";

interface CastEventLike {
  readonly at: number;
  readonly code: string;
  readonly data: string;
}

interface ExaminerOptions {
  readonly known: KnownClaude;
  /** The version of Claude Code; absent if the recording will name it. */
  readonly version?: string | undefined;
  readonly onPiece?: (piece: Piece) => void;
}

/** Compares one recording, piece by piece, with what is known of Claude Code. */
export class RecordingExaminer {
  readonly #known: KnownClaude;
  readonly #onPiece: (piece: Piece) => void;
  #version: string | undefined;
  #scanner = SCANNER_START;
  #dialog: DialogState = NO_DIALOG;

  constructor({ known, version, onPiece = () => {} }: ExaminerOptions) {
    this.#known = known;
    this.#version = version;
    this.#onPiece = onPiece;
  }

  /** Returns the version of Claude Code, once it is known. */
  readonly version = (): string | undefined => this.#version;

  /** Sets the version of Claude Code, unless it is known already. */
  readonly learn = (version: unknown): void => {
    if (this.#version === undefined && typeof version === "string") this.#version = version;
  };

  /** Checks a frame that the caller read. */
  readonly frame = (frame: JsonObject): readonly Drift[] => {
    this.learn(frame.claude_code_version);
    const { hook_event: event } = frame;
    const ofHook: readonly Drift[] = typeof event === "string"
      ? checkType({ sort: "hook", name: event, fields: [] }, this.#known)
      : [];
    return [...checkFrame(frame), ...ofHook, ...this.#check(piecesOfFrame(frame))];
  };

  /** Checks an event of the cast. */
  readonly event = ({ at, code, data }: CastEventLike): readonly Drift[] => {
    switch (code) {
      case "o": {
        const { state, tokens } = scanTerminal(this.#scanner, encoder.encode(data));
        this.#scanner = state;
        return tokens.flatMap((token) => checkProbe(token, this.#known));
      }
      case "h": {
        const input = parseJsonObject(data);
        return input === undefined ? [] : this.#input(input, at);
      }
      case "d": {
        const ending = parseJsonObject(data)?.ending;
        return isJsonObject(ending) && ending.kind === "dialog" && isScreen(ending.screen)
          ? checkFinalScreen(this.#dialog, ending.screen)
          : [];
      }
      default:
        return [];
    }
  };

  /** Checks what the API sent: an event of a stream, or a complete message. */
  readonly api = (sent: JsonObject): readonly Drift[] =>
    this.#check(sent.type === "message" ? piecesOfAnswer(sent) : piecesOfEvent(sent));

  /** Checks an input of the conversation. */
  #input(input: JsonObject, at: number): readonly Drift[] {
    switch (input.type) {
      case "transcript":
      case "subagent":
        return this.#line(input.line);
      case "earlier":
        return Array.isArray(input.lines) ? input.lines.flatMap((line) => this.#line(line)) : [];
      case "hook": {
        const { event, payload } = input;
        return isJsonObject(payload) ? this.#check([pieceOfHook(asText(event), payload)]) : [];
      }
      case "stream":
        return isJsonObject(input.part) ? this.#check(piecesOfEvent(input.part.event)) : [];
      case "status": {
        const status = asText(input.status);
        this.#dialog = { ...this.#dialog, status };
        return this.#check([{ sort: "status", name: status, fields: [] }]);
      }
      case "screen": {
        if (!isScreen(input.screen)) return [];
        const { seen, found } = checkScreen(this.#dialog, { screen: input.screen, at });
        this.#dialog = seen;
        return found;
      }
      default:
        return [];
    }
  }

  #line(line: unknown): readonly Drift[] {
    if (!isJsonObject(line)) return [];
    this.learn(line.version);
    return [...checkLine(line), ...this.#check(piecesOfLine(line))];
  }

  #check(pieces: readonly Piece[]): readonly Drift[] {
    return pieces.flatMap((piece) => {
      this.#onPiece(piece);
      const context = { known: this.#known, version: this.#version };
      return [...checkType(piece, this.#known), ...checkFields(piece, context)];
    });
  }
}

const encoder = new TextEncoder();

/** The number of rows and columns may be missing: only the lines and the cursor are read. */
function isScreen(value: unknown): value is Screen {
  return isJsonObject(value) && Array.isArray(value.lines) &&
    value.lines.every((line) => typeof line === "string") && isJsonObject(value.cursor) &&
    typeof value.cursor.row === "number" && typeof value.cursor.col === "number";
}

/** Transcript lines that a run parses. */
const PARSED_LINES: readonly unknown[] = ["user", "assistant", "system", "attachment"];

/** Reports a transcript line of a known type that cannot be parsed. */
function checkLine(line: JsonObject): readonly Drift[] {
  if (!PARSED_LINES.includes(line.type) || readEntry(line)?.type !== "other") return [];
  return [{
    check: "frame rejected",
    where: `line ${line.type}`,
    what: "it does not look as such a line has to",
  }];
}

/** The check that reports an unknown name, by the sort of the piece. */
const CHECK_OF_SORT: Readonly<Record<PieceSort, DriftCheck | undefined>> = {
  frame: "type unknown",
  line: "type unknown",
  event: "type unknown",
  status: "type unknown",
  hook: "hook event new",
  block: "block dropped",
  part: undefined,
};

/** Reports a piece whose type is in no recording. */
function checkType(piece: Piece, known: KnownClaude): readonly Drift[] {
  const check = CHECK_OF_SORT[piece.sort];
  if (check === undefined || known.shapes.has(shapeKey(piece))) return [];
  return [{ check, where: piece.sort, what: piece.name }];
}

/** Reports fields that are in no recording, and missing fields that all recordings have. */
function checkFields(
  piece: Piece,
  { known, version }: { readonly known: KnownClaude; readonly version: string | undefined },
): readonly Drift[] {
  const ever = known.shapes.get(shapeKey(piece))?.ever;
  // Only the name of such a piece is known: recordings omit the fields of some attachments.
  if (ever === undefined || [...ever].every((field) => field === "type")) return [];
  const isAttached = piece.sort === "line" && piece.name.startsWith("attachment/");
  const isNew = (field: string) =>
    !ever.has(field) && !(isAttached && known.fieldsOfLines.has(field)) &&
    !isPrintedField(piece, field);
  const where = piece.sort === "part" ? piece.name : `${piece.sort} ${piece.name}`;
  const has = new Set(piece.fields);
  return [
    ...piece.fields.filter(isNew)
      .map((what) => ({ check: "field new", where, what }) as const),
    ...[...requiredFields(known, piece, version)].filter((field) => !has.has(field))
      .map((what) => ({ check: "field gone", where, what }) as const),
  ];
}

const block = z.looseObject({ type: z.string() });
const session = { session_id: z.string() };
const parent = { parent_tool_use_id: z.exactOptional(z.nullable(z.string())) };

/** The fields that programs rely on, by the type of a frame. */
const SCHEMAS: Readonly<Record<string, z.ZodMiniType>> = {
  system: z.looseObject({ subtype: z.string(), ...session }),
  assistant: z.looseObject({
    message: z.looseObject({
      id: z.string(),
      model: z.string(),
      content: z.array(block),
      usage: z.exactOptional(z.nullable(z.looseObject({}))),
    }),
    ...parent,
    ...session,
  }),
  user: z.looseObject({
    message: z.looseObject({ content: z.union([z.string(), z.array(block)]) }),
    ...parent,
  }),
  result: z.looseObject({
    subtype: z.string(),
    is_error: z.boolean(),
    num_turns: z.number(),
    result: z.exactOptional(z.string()),
    errors: z.exactOptional(z.array(z.string())),
    total_cost_usd: z.exactOptional(z.number()),
    usage: z.exactOptional(z.looseObject({})),
    modelUsage: z.exactOptional(z.record(z.string(), z.looseObject({}))),
    permission_denials: z.exactOptional(z.array(z.looseObject({}))),
    ...session,
  }),
  stream_event: z.looseObject({ event: block, ...parent, ...session }),
  rate_limit_event: z.looseObject({ rate_limit_info: z.looseObject({}), ...session }),
  control_response: z.looseObject({
    response: z.discriminatedUnion("subtype", [
      // It has the id of its request, which may have any type.
      z.looseObject({ subtype: z.literal("success") }),
      z.looseObject({ subtype: z.literal("error"), error: z.string() }),
    ]),
  }),
  control_request: z.looseObject({
    request_id: z.string(),
    request: z.looseObject({ subtype: z.string() }),
  }),
  control_cancel_request: z.looseObject({ request_id: z.string() }),
  command_lifecycle: z.looseObject({ command_uuid: z.string(), state: z.string() }),
  transcript_mirror: z.looseObject({
    filePath: z.string(),
    entries: z.array(z.looseObject({})),
  }),
};

/** Reports a frame of a known type that does not match its schema. */
export function checkFrame(frame: JsonObject): readonly Drift[] {
  const { type } = frame;
  const schema = typeof type === "string" && Object.hasOwn(SCHEMAS, type)
    ? SCHEMAS[type]
    : undefined;
  const issue = schema?.safeParse(frame).error?.issues[0];
  if (issue === undefined) return [];
  const what = `${issue.path.map(String).join(".")}: ${issue.message}`;
  return [{ check: "frame rejected", where: `frame ${frameName(frame)}`, what }];
}

/** How long an unknown dialog has to stay on the screen. A run waits as long for a known one. */
const STANDS_MS = 3000;

/** The contents of the screen so far. */
interface DialogState {
  /** The status file of the child; undefined before its first status. */
  readonly status: string | undefined;
  /** The unknown dialog on the screen, and since when it is there. */
  readonly asking?: {
    readonly words: string;
    readonly since: number;
    readonly isReported: boolean;
  };
}

const NO_DIALOG: DialogState = { status: undefined };

/** Reports a dialog that is unknown and has been on the screen for some time. */
function checkScreen(
  seen: DialogState,
  { screen, at }: { readonly screen: Screen; readonly at: number },
): { readonly seen: DialogState; readonly found: readonly Drift[] } {
  const { status } = seen;
  const words = unknownWords(screen, status);
  if (words === undefined || !(status === undefined || status === "waiting")) {
    return { seen: { status }, found: [] };
  }
  const before = seen.asking?.words === words
    ? seen.asking
    : { words, since: at, isReported: false };
  const isDue = !before.isReported && at - before.since >= STANDS_MS;
  return {
    seen: { status, asking: { ...before, isReported: before.isReported || isDue } },
    found: isDue ? [unknown(words)] : [],
  };
}

/** Reports the dialog that ended a run, if it is still unknown. */
function checkFinalScreen(seen: DialogState, screen: Screen): readonly Drift[] {
  if (isBlank(screen)) return [];
  const words = recogniseDialog(screen, { when: whenOf(seen.status) }) === undefined
    ? unknownWords(screen, seen.status) ?? firstWords(screen)
    : undefined;
  const isReported = seen.asking?.isReported === true && seen.asking.words === words;
  return words === undefined || isReported ? [] : [unknown(words)];
}

/** Returns the choices of an unknown dialog. */
function unknownWords(screen: Screen, status: string | undefined): string | undefined {
  const choices = readChoices(screen);
  if (choices.length === 0) return undefined;
  if (recogniseDialog(screen, { when: whenOf(status) }) !== undefined) return undefined;
  return choices.map(({ text }) => text).join(" / ");
}

function firstWords(screen: Screen): string {
  return screen.lines.map((line) => line.trim()).filter((line) => line !== "").join(" ");
}

function whenOf(status: string | undefined): Dialog["when"] {
  return status === undefined ? "start" : "later";
}

function unknown(words: string): Drift {
  return { check: "dialog unknown", where: "screen", what: words };
}

/** Queries for sizes and positions of the window (XTWINOPS). */
const WINDOW_REPORT = /^(?:1[1345689]|2[01])(?:;|$)/u;

/**
 * Returns the query in a control sequence, such as `CSI >0q`; undefined if the terminal need not answer. Queries are
 * device attributes, status and modes, the terminal's version, keyboard protocol and sizes, and strings for colours,
 * settings and pictures.
 */
function probeIn(token: TerminalToken): string | undefined {
  switch (token.kind) {
    case "csi": {
      const { parameters, final } = token;
      return isQuery(parameters, final) ? `CSI ${parameters}${final}` : undefined;
    }
    case "string":
      return stringProbe(token);
    case "esc":
      return token.intermediates === "" && token.final === "Z" ? "ESC Z" : undefined;
    case "text":
      return undefined;
    default:
      return token satisfies never;
  }
}

function isQuery(parameters: string, final: string): boolean {
  switch (final) {
    case "c":
      return /^[>=]?[\d;]*$/u.test(parameters);
    case "n":
      return /^\??[\d;]+$/u.test(parameters);
    case "p":
      return parameters.endsWith("$");
    case "q":
      return parameters.startsWith(">");
    case "t":
      return WINDOW_REPORT.test(parameters);
    case "u":
      return parameters.startsWith("?");
    case "S":
      return parameters.startsWith("?");
    case "x":
      return /^\d?$/u.test(parameters);
    default:
      return false;
  }
}

function stringProbe(
  { introducer, content }: { readonly introducer: string; readonly content: string },
): string | undefined {
  if (introducer === "]" && /^[\d;a-z]*;\?$/u.test(content)) return `OSC ${content}`;
  if (introducer === "P" && /^\+q|^\$q/u.test(content)) return `DCS ${content}`;
  if (introducer === "_" && /^G[^;]*\ba=q\b/u.test(content)) return "APC G a=q";
  return undefined;
}

/** Reports a query to the terminal that is in no recording. */
function checkProbe(token: TerminalToken, known: KnownClaude): readonly Drift[] {
  const probe = probeIn(token);
  return probe === undefined || known.probes.has(probe)
    ? []
    : [{ check: "probe unknown", where: "terminal", what: probe }];
}
