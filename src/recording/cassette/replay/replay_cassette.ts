import { framesOn, type TapedFrame, type TapeEntry } from "../cassette.ts";
import type { PlayedCast } from "../cast.ts";
import { compareFrames } from "./compare_frames.ts";
import { joinShellOutput } from "./join_shell_output.ts";
import { replayCast } from "./replay_cast.ts";
import type { Ending } from "../../../conversation/control/effect.ts";
import type { AnyFrame } from "../../../claude/wire/any_frame.ts";
import type { ResultFrame } from "../../../claude/wire/result_frame.ts";
import type { OutputKind } from "../../../claude/wire/output_writer.ts";

/** What became of a recorded run when this program's machines were given its inputs again. */
export interface CassetteReplay {
  /** The frames of the recorded run as stream-json prints them, in order; without a tape those that it has now. */
  readonly frames: readonly TapedFrame[];
  /** The last result among them; absent when the recorded run printed none. */
  readonly result?: ResultFrame;
  /** How the recorded run printed them, if it says so. */
  readonly output?: OutputKind;
  /** How the run ends with this program; absent when the recording stops before that. */
  readonly ending?: Ending;
  /** Where this program acts otherwise than the recorded one did: one sentence each, empty when it does the same. */
  readonly differences: readonly string[];
}

/**
 * Replays a recorded run, without waiting and without Claude Code: its inputs go to this program's machines, and what
 * those do and say is compared with what was recorded.
 *
 * @param cassette.tape without it nothing that is said is compared
 * @param options.split gives them all output in pieces of so many bytes: what they do and say is to be the same
 */
export function replayCassette(
  { cast, tape }: { readonly cast: PlayedCast; readonly tape?: readonly TapeEntry[] },
  { split }: { readonly split?: number | undefined } = {},
): CassetteReplay {
  const { output } = cast.header.claude_print;
  const { ending, frames, differences } = replayCast(cast, { split });
  const comparable = split === undefined
    ? (frames: readonly AnyFrame[]) => frames
    : joinShellOutput;
  // A frame is compared as a line of JSON, which has no undefined.
  const said: readonly AnyFrame[] = JSON.parse(JSON.stringify(frames));
  const taped = tape === undefined
    ? said.map((frame) => ({ at: 0, dir: "read", frame }) as const)
    : framesOn(tape);
  const result = taped.findLast(({ frame }) => frame.type === "result")?.frame;
  return {
    frames: taped,
    ...(result === undefined ? {} : { result: result as ResultFrame }),
    ...(ending === undefined ? {} : { ending }),
    ...(output === undefined ? {} : { output }),
    differences: output === undefined || tape === undefined ? differences : [
      ...differences,
      ...compareFrames(
        comparable(taped.map(({ frame }) => frame)),
        comparable(said),
      ),
    ],
  };
}
