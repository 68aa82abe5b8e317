import type { AnyFrame } from "../../claude/wire/any_frame.ts";
import type { ConversationOptions } from "../../conversation/output/conversation.ts";
import type { Prompt } from "../../conversation/control/message.ts";
import type { OutputKind } from "../../claude/wire/output_writer.ts";
import { jsonLine } from "../../claude/wire/json_text.ts";

/** A frame of a run as stream-json prints it, which its caller reads, and when that was. */
export interface TapedFrame {
  /** Milliseconds since the child was started. */
  readonly at: number;
  readonly dir: "read";
  readonly frame: AnyFrame;
}

/** What the caller of a conversation wrote, with the end of its line, and when that was heard. */
export interface TapedLine {
  readonly at: number;
  readonly dir: "write";
  readonly data: string;
  /** Of a last line, which is empty: how the program ended, where somebody wants a replay to end like that. */
  readonly exit?: { readonly code: number; readonly stderr?: string };
}

/** One of both. */
export type TapeEntry = TapedFrame | TapedLine;

/** A recorded run: a folder with its cast in `child.cast`, its tape in `tape.jsonl` and what is known of both in `meta.json`. */
export interface Cassette {
  /** Absent from recordings that were made before there was any. */
  readonly meta?: CassetteMeta;
  readonly cast: Cast;
  readonly tape: readonly TapeEntry[];
}

/** The cast's file in a cassette's folder. */
export const CAST_FILE = "child.cast";
/** The tape's file in a cassette's folder. */
export const TAPE_FILE = "tape.jsonl";
/** The file in a cassette's folder that says what it is. */
export const META_FILE = "meta.json";

/** The folder in a cassette's folder with what went to the API and came from there, a file an exchange, if it has that. */
export const API_FOLDER = "api";

/** The frames on a tape. */
export function framesOn(tape: readonly TapeEntry[]): readonly TapedFrame[] {
  return tape.filter((entry) => entry.dir === "read");
}

/** The format of the cassettes that this program writes; one that it reads may be older. */
export const CASSETTE_FORMAT = 1;

/** What is known of a cassette, as its `meta.json` has it. */
export interface CassetteMeta {
  readonly format: number;
  /** The version of this program. */
  readonly claude_print: string;
  /** The version of Claude Code, once it was told. */
  readonly claude_code?: string;
  /** What both ran on, such as `linux-x86_64`. */
  readonly platform: string;
  /** The terminal's first size, in character cells. */
  readonly size: { readonly cols: number; readonly rows: number };
  /** When the child was started, as `Date` writes it. */
  readonly when: string;
  /** How often `[redacted]` stands in each part, in the place of a secret. */
  readonly scrubbed: Readonly<Record<string, number>>;
  /** What was blanked besides, as `cassette scrub` does: names and paths of a machine, prompts, answers. */
  readonly blanked?: readonly string[];
  /** The flags that the run was given for Claude Code: with their values, or by their names alone. */
  readonly flags?: readonly string[];
  /** Where the conversation comes from, if it goes on with a recorded one. */
  readonly forked_from?: ForkOrigin;
}

/** A recorded conversation, and up to where another one has it in common. */
export interface ForkOrigin {
  /** The name of the folder of its cassette. */
  readonly cassette: string;
  /** When it was recorded, as `Date` writes it; absent where its cassette does not say. */
  readonly when?: string;
  /** Its session; absent where it had none yet. */
  readonly session_id?: string;
  /** The number of the last turn that both have; 0 for none. */
  readonly turn: number;
}

/**
 * A recorded terminal: an asciicast of version 2 (docs.asciinema.org/manual/asciicast/v2), so that any of its players
 * shows it, and at the same time the complete list of a session's inputs.
 */
export interface Cast {
  readonly header: CastHeader;
  readonly events: readonly CastEvent[];
}

/** A cast whose events are gone through once, as they are read: there may be more of them than memory has room for. */
export interface PlayedCast {
  readonly header: CastHeader;
  readonly events: Iterable<CastEvent>;
}

/** The first line of a cast. Players know all of it but `claude_print`. */
export interface CastHeader {
  readonly version: 2;
  /** The terminal's first size, in character cells. */
  readonly width: number;
  readonly height: number;
  /** When the child was started, in seconds since the epoch. */
  readonly timestamp: number;
  readonly env: { readonly TERM: string };
  readonly claude_print: {
    /** The versions of this program and of Claude Code, in recordings from before there was a `meta.json`. */
    readonly version?: string;
    readonly claude_version?: string;
    /** How the run printed its frames; absent from the first recordings, which hold less of what a run was told. */
    readonly output?: OutputKind;
    /** What the machines were told before they began. */
    readonly conversation: ConversationOptions;
    /** The run's only message, where it is not among the inputs: the first recordings have it here. */
    readonly first?: Prompt;
  };
}

/**
 * One line of a cast after the first.
 *
 * Codes of asciicast, in the order of the effects and inputs they stand for:
 *
 * - `o`: what the child wrote to its terminal
 * - `i`: what the session machine typed
 * - `r`: the terminal's new size, as in `80x24`
 * - `m`: a moment worth jumping to, in words
 * - `x`: the child's exit status, 128 and the signal's number for one that a signal ended; what else is known of its end
 *   is an input
 *
 * Codes of our own, which players ignore; their data is JSON:
 *
 * - `h`: any other input that was heard, without its time
 * - `d`: any other effect that was done that reaches the outside and is no frame: a look at the screen, a prompt delivered, a
 *   signal, what became of the run, the end
 */
export interface CastEvent {
  /** Milliseconds since the child was started, to the microsecond. */
  readonly at: number;
  readonly code: CastCode;
  readonly data: string;
}

/** The codes of events that mean something here; those of other programs are left out when a cast is read. */
export type CastCode = "o" | "i" | "r" | "m" | "x" | "h" | "d";

/** The first line of a cast's file. */
export function encodeHeader(header: CastHeader): string {
  return `${jsonLine(header)}\n`;
}

/** An event as a line of a cast's file: its time in seconds. */
export function encodeEvent({ at, code, data }: CastEvent): string {
  return `${jsonLine([Number((at / 1000).toFixed(6)), code, data])}\n`;
}

/** An entry as a line of a tape's file: its time in milliseconds. */
export function encodeEntry({ at, dir, ...payload }: TapeEntry): string {
  return `${asciiJson({ dir, at: Number(at.toFixed(3)), ...payload })}\n`;
}

/**
 * A value as JSON in ASCII, as Python's `json` writes it: what reads a tape there may take more characters for the end of
 * a line than JSON does, and the bytes for those of another encoding.
 */
export function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(/[\x7f-\uffff]/g, escaped);
}

/** What is known of a cassette as the text of its file. */
export function encodeMeta(meta: CassetteMeta): string {
  return `${JSON.stringify(meta, undefined, 2)}\n`;
}

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
