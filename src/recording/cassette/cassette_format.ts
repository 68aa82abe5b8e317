import type { AnyFrame } from "../../claude/wire/any_frame.ts";
import type { ConversationOptions } from "../../conversation/output/conversation.ts";
import type { Prompt } from "../../conversation/control/message.ts";
import type { OutputKind } from "../../claude/wire/output_writer.ts";
import { jsonLine } from "../../claude/wire/json_text.ts";

/** A frame that the run printed for its caller, as in stream-json. */
export interface TapedFrame {
  /** Milliseconds since the child started. */
  readonly at: number;
  readonly dir: "read";
  readonly frame: AnyFrame;
}

/** A line that the caller of a conversation wrote, with its line end. */
export interface TapedLine {
  readonly at: number;
  readonly dir: "write";
  readonly data: string;
  /** How a replay of the program ends. Only the last line of a tape may have this field; its `data` is empty. */
  readonly exit?: { readonly code: number; readonly stderr?: string };
}

export type TapeEntry = TapedFrame | TapedLine;

/**
 * A recorded run: a folder with the child's terminal and inputs in `child.cast`, the lines between the program and
 * its caller in `tape.jsonl`, and facts about both in `meta.json`.
 */
export interface Cassette {
  /** Absent from recordings older than `meta.json`. */
  readonly meta?: CassetteMeta;
  readonly cast: Cast;
  readonly tape: readonly TapeEntry[];
}

export const CAST_FILE = "child.cast";
export const TAPE_FILE = "tape.jsonl";
export const META_FILE = "meta.json";

/** The folder with the exchanges with the API, one file for each. Not every cassette has this folder. */
export const API_FOLDER = "api";

export function framesOn(tape: readonly TapeEntry[]): readonly TapedFrame[] {
  return tape.filter((entry) => entry.dir === "read");
}

/** The format that this version writes. This version also reads older formats. */
export const CASSETTE_FORMAT = 1;

/** The contents of `meta.json`. */
export interface CassetteMeta {
  readonly format: number;
  /** The version of claude-print. */
  readonly claude_print: string;
  /** The version of Claude Code; absent if the run ended before it was known. */
  readonly claude_code?: string;
  /** The platform of the run, such as `linux-x86_64`. */
  readonly platform: string;
  /** The terminal's first size, in character cells. */
  readonly size: { readonly cols: number; readonly rows: number };
  /** When the child started, as `Date.toISOString()` writes it. */
  readonly when: string;
  /** The number of `[redacted]` marks, which replace secrets, in each part. */
  readonly scrubbed: Readonly<Record<string, number>>;
  /** What `cassette scrub` blanked besides secrets: `traces` (names and paths of the machine), `prompts`, `answers`. */
  readonly blanked?: readonly string[];
  /** The run's flags for Claude Code. A flag that a fork must not take over is listed without its value. */
  readonly flags?: readonly string[];
  /** The recorded conversation that this one continues. */
  readonly forked_from?: ForkOrigin;
}

/** A recorded conversation, and the turn up to which another one shares it. */
export interface ForkOrigin {
  /** The name of the cassette's folder. */
  readonly cassette: string;
  /** When the cassette was recorded, as `Date.toISOString()` writes it; absent if its meta does not say. */
  readonly when?: string;
  /** The session id; absent if the recording stops before Claude Code named it. */
  readonly session_id?: string;
  /** The number of the last shared turn; 0 if no turn is shared. */
  readonly turn: number;
}

/**
 * A recorded terminal and all inputs of its session. The file is an asciicast of version 2
 * (docs.asciinema.org/manual/asciicast/v2), so any asciicast player shows it.
 */
export interface Cast {
  readonly header: CastHeader;
  readonly events: readonly CastEvent[];
}

/** A cast whose events are read from the file while they are iterated. A cast may be larger than memory. */
export interface CastReader {
  readonly header: CastHeader;
  readonly events: Iterable<CastEvent>;
}

/** The first line of a cast. Players know every field but `claude_print`. */
export interface CastHeader {
  readonly version: 2;
  /** The terminal's first size, in character cells. */
  readonly width: number;
  readonly height: number;
  /** When the child started, in seconds since the epoch. */
  readonly timestamp: number;
  readonly env: { readonly TERM: string };
  readonly claude_print: {
    /** The versions of claude-print and Claude Code, in recordings older than `meta.json`. */
    readonly version?: string;
    readonly claude_version?: string;
    /** How the run printed its frames; absent from the first recordings, which also lack inputs. */
    readonly output?: OutputKind;
    /** The options of the conversation. */
    readonly conversation: ConversationOptions;
    /** The run's only message. Only the first recordings have it in the header; later ones have it among the inputs. */
    readonly first?: Prompt;
  };
}

/**
 * One line of a cast after the first.
 *
 * Codes of asciicast:
 *
 * - `o`: output of the child to its terminal
 * - `i`: keys that the conversation typed
 * - `r`: the terminal's new size, as in `80x24`
 * - `m`: a marker, with its name
 * - `x`: the child's exit status; 128 plus the signal's number if a signal ended it. An input has further details of
 *   the exit.
 *
 * Own codes, which players ignore; their data is JSON:
 *
 * - `h`: any other input, without its time
 * - `d`: any other effect outside the program, except frames: look at the screen, deliver a prompt, send a signal,
 *   report, end
 */
export interface CastEvent {
  /** Milliseconds since the child started, to the microsecond. */
  readonly at: number;
  readonly code: CastCode;
  readonly data: string;
}

/** The codes that this program reads. Reading a cast skips the codes of other programs. */
export type CastCode = "o" | "i" | "r" | "m" | "x" | "h" | "d";

/** The header as the first line of a cast's file. */
export function encodeHeader(header: CastHeader): string {
  return `${jsonLine(header)}\n`;
}

/** An event as a line of a cast's file, with its time in seconds. */
export function encodeEvent({ at, code, data }: CastEvent): string {
  return `${jsonLine([Number((at / 1000).toFixed(6)), code, data])}\n`;
}

/** An entry as a line of a tape's file, with its time in milliseconds. */
export function encodeEntry({ at, dir, ...payload }: TapeEntry): string {
  return `${asciiJson({ dir, at: Number(at.toFixed(3)), ...payload })}\n`;
}

/**
 * A value as JSON in ASCII, as Python's `json` writes it. Readers in Python may split lines at more characters than
 * JSON does, or expect another encoding.
 */
export function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(/[\x7f-\uffff]/g, escapeUnit);
}

/** The text of `meta.json`. */
export function encodeMeta(meta: CassetteMeta): string {
  return `${JSON.stringify(meta, undefined, 2)}\n`;
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
