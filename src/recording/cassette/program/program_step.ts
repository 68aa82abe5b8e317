import type { AnyFrame } from "../../../claude/wire/any_frame.ts";
import type { LiveRedaction } from "./live_redaction.ts";
import type { JsonObject } from "../../../json_object.ts";

/**
 * What a recorded program does with the questions that it asked its caller, in the words of `claude-agent-cassette`:
 *
 * - `inert`: it does not ask them, and what was answered plays no part
 * - `stub`: it does not ask them, and takes the answers from the tape, which has to have one for each
 * - `verify`: it asks them, and compares what is answered with the tape
 */
export type ReplayMode = "inert" | "stub" | "verify";

/** A step of a recorded program: something that it says, or something that it waits for. `at` as on the tape. */
export type ProgramStep =
  | { readonly kind: "frame"; readonly at: number; readonly frame: AnyFrame }
  /** A question to the caller. */
  | {
    readonly kind: "ask";
    readonly at: number;
    readonly id: string;
    readonly request: JsonObject;
    readonly frame: AnyFrame;
  }
  /** The answer to a request of the caller that had this id. */
  | { readonly kind: "reply"; readonly at: number; readonly id: string; readonly frame: AnyFrame }
  | WaitStep;

/** What a program waits for. */
export type WaitStep =
  /** A message; `message` is absent where the tape does not know what it said. */
  | {
    readonly kind: "message";
    readonly at: number;
    readonly message?: JsonObject;
    readonly uuid?: string;
  }
  | {
    readonly kind: "request";
    readonly at: number;
    readonly id: string;
    readonly subtype: string;
    readonly request: JsonObject;
  }
  /** The answer to the question of this id. */
  | {
    readonly kind: "answer";
    readonly at: number;
    readonly id: string;
    /** How often that question had been answered before. */
    readonly again: number;
    readonly subtype: string;
    readonly response: JsonObject;
  }
  /** The signal by which the caller ended the program. */
  | { readonly kind: "stop"; readonly at: number };

/** How a recorded program ended. */
export interface ProgramExit {
  readonly code: number;
  /** What it said on stderr. */
  readonly stderr?: string;
}

/** A tape as the program that it was recorded of. */
export interface RecordedProgram {
  readonly steps: readonly ProgramStep[];
  /** How it ended, where that is known; otherwise as its last result says. */
  readonly exit?: ProgramExit;
  /** Whether it ended by itself: one that did not waits for the end of its input. */
  readonly endsByItself: boolean;
  /** The session that it told, where it told any. */
  readonly sessionId?: string;
  /** The version of Claude Code that it said it is. */
  readonly version?: string;
  /** Whether the tape holds what its caller wrote, or what it was asked is known otherwise. */
  readonly knowsPrompts: boolean;
  /** What was taken out of the tape besides secrets, as `meta.json` says. */
  readonly blanked: readonly string[];
  /** Takes out of what is written what was taken out of the tape, where that can be done. */
  readonly redaction?: LiveRedaction;
}
