import { asText, isJsonObject, type JsonObject } from "../../../json_object.ts";
import { jsonObjectIn } from "../../../claude/wire/json_object_in.ts";
import { SCANNER_START, scanTerminal } from "../../../conversation/terminal/terminal_scanner.ts";
import type { Screen } from "../../../conversation/terminal/screen.ts";
import { otherFields } from "../checks/other_fields.ts";
import { rejectedFrame } from "../checks/rejected_frame.ts";
import { rejectedLine } from "../checks/rejected_line.ts";
import { NOTHING_SEEN, seeEnd, type SeenDialogs, seeScreen } from "../checks/unknown_dialog.ts";
import { unknownProbe } from "../checks/unknown_probe.ts";
import { unknownType } from "../checks/unknown_type.ts";
import type { Found } from "../finding.ts";
import type { KnownClaude } from "../known.ts";
import {
  type Piece,
  pieceOfHook,
  piecesOfAnswer,
  piecesOfEvent,
  piecesOfFrame,
  piecesOfLine,
} from "../piece.ts";

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
