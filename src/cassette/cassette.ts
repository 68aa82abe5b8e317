import type { Cast } from "./cast.ts";
import type { TapedFrame } from "./taped_frame.ts";

/** A recorded run: a folder with its cast in `child.cast` and its tape in `tape.jsonl`. */
export interface Cassette {
  readonly cast: Cast;
  readonly tape: readonly TapedFrame[];
}

/** The cast's file in a cassette's folder. */
export const CAST_FILE = "child.cast";
/** The tape's file in a cassette's folder. */
export const TAPE_FILE = "tape.jsonl";
