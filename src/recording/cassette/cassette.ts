import type { Cast } from "./cast.ts";
import type { CassetteMeta } from "./cassette_meta.ts";
import type { AnyFrame } from "../../claude/wire/any_frame.ts";

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
