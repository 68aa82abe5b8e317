import type { SessionOptions } from "../session/session_state.ts";

/**
 * A recorded terminal: an asciicast of version 2 (docs.asciinema.org/manual/asciicast/v2), so that any of its players
 * shows it, and at the same time the complete list of a session's inputs.
 */
export interface Cast {
  readonly header: CastHeader;
  readonly events: readonly CastEvent[];
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
    /** The version of this program. */
    readonly version: string;
    /** The version of Claude Code, if it was told. */
    readonly claude_version?: string;
    /** What the session machine was told before it began, the prompt among it. */
    readonly session: SessionOptions;
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
 *
 * Codes of our own, which players ignore; their data is JSON:
 *
 * - `x`: any other input of the session machine, without its time
 * - `y`: any other effect that reaches the outside: a look at the screen, a prompt delivered, a signal, the end
 */
export interface CastEvent {
  /** Milliseconds since the child was started, to the microsecond. */
  readonly at: number;
  readonly code: CastCode;
  readonly data: string;
}

/** The codes of events that mean something here; those of other programs are left out when a cast is read. */
export type CastCode = "o" | "i" | "r" | "m" | "x" | "y";
