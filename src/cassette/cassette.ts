import type { Cast } from "./cast.ts";
import type { AnyFrame } from "../wire/frame.ts";

/** A frame of a run as stream-json prints it, and when that was. */
export interface TapedFrame {
  /** Milliseconds since the child was started. */
  readonly at: number;
  readonly frame: AnyFrame;
}

/** A recorded run: a folder with its cast in `child.cast` and its tape in `tape.jsonl`. */
export interface Cassette {
  readonly cast: Cast;
  readonly tape: readonly TapedFrame[];
}

/** The cast's file in a cassette's folder. */
export const CAST_FILE = "child.cast";
/** The tape's file in a cassette's folder. */
export const TAPE_FILE = "tape.jsonl";
