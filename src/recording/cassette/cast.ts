import type { ConversationOptions } from "../../conversation/output/conversation.ts";
import type { Prompt } from "../../conversation/control/message.ts";
import type { OutputKind } from "../../claude/wire/output_writer.ts";

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
