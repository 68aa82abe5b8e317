import { type Conversation, converse } from "./open_conversation.ts";
import { asRunError, type RunOptions } from "./run_output.ts";
import type { Frame } from "../claude/wire/frame.ts";
import type { ResultFrame } from "../claude/wire/result_frame.ts";

/**
 * Holds a conversation as {@linkcode converse} does, and records it as it goes: `replay()` and `claude-print cassette`
 * read the recording, whatever ends your program.
 *
 * A run of one prompt is recorded by {@linkcode run} with `args: ["--record", folder]`.
 *
 * @param folder a folder that does not exist yet, or an empty one; from the working directory of the conversation
 * @param options as those of a conversation
 * @returns the conversation, in which nothing has been said
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
  /** The frame as the recorded run gave it. */
  readonly frame: Frame;
}

/** A recorded run, and what becomes of it today. */
export interface Replay {
  /** All frames of the recorded run, in order. */
  readonly frames: readonly ReplayedFrame[];
  /** The last result among them; absent when the recorded run gave none. */
  readonly result?: ResultFrame;
  /** How the run ends with this version: `answered`, `failed`, `timeout`, …; absent when the recording stops before. */
  readonly ending?: string;
  /** Where this version acts otherwise than the recorded one did: a sentence each, empty when it does the same. */
  readonly differences: readonly string[];
}

/**
 * Goes through a recorded run again, without waiting, Claude Code, a login or the network: what the run was told is
 * told to the code of this version, and what that does is compared with what was recorded.
 *
 * @param folder what was given to {@linkcode record}, or to `--record`
 * @returns the frames of the recorded run, and what is different with this version
 * @throws {RunError} when the folder holds no recording, or a damaged one
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
  // Loaded here: a program that only runs prompts does not need it.
  const [{ openForReplay: openForReplay }, { replayCassette }] = await Promise.all([
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
    // Whatever is on a tape was a frame of a run.
    frames: frames.map(({ at, frame }) => ({ at, frame: frame as Frame })),
    ...(result === undefined ? {} : { result }),
    ...(ending === undefined ? {} : { ending: ending.kind }),
    differences,
  };
}
