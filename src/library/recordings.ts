import { type Conversation, converse } from "./open_conversation.ts";
import { asRunError, type RunOptions } from "./run_output.ts";
import type { Frame } from "../claude/wire/frame.ts";
import type { ResultFrame } from "../claude/wire/result_frame.ts";
import { definedFields } from "../defined_fields.ts";

/**
 * Starts a conversation as {@linkcode converse} does, and records it as it happens: `replay()` and `claude-print cassette`
 * can read the recording however your program ends.
 *
 * A run of one prompt is recorded by {@linkcode run} with `args: ["--record", folder]`.
 *
 * @param folder a new or empty folder; a relative path begins at the working directory of the conversation
 * @param options as those of a conversation
 * @returns the conversation, without a message yet
 *
 * @example A recording, and what is in it
 * ```ts
 * import { record, replay } from "jsr:@claude-print/cli/library";
 *
 * const conversation = record("recording", { args: ["--model", "haiku"] });
 * await conversation.send("Think of a number.").result;
 * await conversation.send("Double it.").result;
 * await conversation.close();
 * console.log((await replay("recording")).frames.length);
 * ```
 */
export function record(folder: string, options: RunOptions = {}): Conversation {
  return converse({ ...options, args: [...options.args ?? [], `--record=${folder}`] });
}

/** A frame of a recorded run. */
export interface ReplayedFrame {
  /** Milliseconds since Claude Code was started. */
  readonly at: number;
  /** The frame as the recorded run emitted it. */
  readonly frame: Frame;
}

/** A recorded run, compared with what this version does. */
export interface Replay {
  /** All frames of the recorded run, in order. */
  readonly frames: readonly ReplayedFrame[];
  /** The last result among them; absent when the recorded run has none. */
  readonly result?: ResultFrame;
  /** How the run ends with this version: `answered`, `failed`, `timeout`, …; absent when the recording stops before its end. */
  readonly ending?: string;
  /** Where this version acts differently, a sentence each; empty when it does the same. */
  readonly differences: readonly string[];
}

/**
 * Replays a recorded run without waiting, Claude Code, a login or the network: gives its inputs to this version, and
 * compares what this version does with the recording.
 *
 * @param folder the folder that {@linkcode record} or `--record` got
 * @returns the frames of the recorded run, and the differences of this version
 * @throws {RunError} when the folder has no recording, or a damaged one
 *
 * @example A recording as a test of an upgrade
 * ```ts
 * import { replay } from "jsr:@claude-print/cli/library";
 *
 * const { result, differences } = await replay("recording");
 * console.log(result?.subtype); // success
 * if (differences.length > 0) throw new Error(differences.join("\n"));
 * ```
 */
export async function replay(folder: string): Promise<Replay> {
  // Loaded late: a program that only runs prompts does not replay.
  const [{ openForReplay }, { replayCassette }] = await Promise.all([
    import("../recording/cassette/read/open_cassette.ts"),
    import("../recording/cassette/replay_cassette.ts"),
  ]);
  let replayed: ReturnType<typeof replayCassette>;
  try {
    replayed = replayCassette(openForReplay(folder));
  } catch (error) {
    throw asRunError(error);
  }
  const { frames, result, ending, differences } = replayed;
  return {
    // A cassette has only frames that a run emitted.
    frames: frames.map(({ at, frame }) => ({ at, frame: frame as Frame })),
    ...definedFields({ result, ending: ending?.kind }),
    differences,
  };
}
