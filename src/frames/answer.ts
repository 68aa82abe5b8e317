import type { Frame, ResultFrame } from "../wire/frame.ts";
import { begin } from "./beginning.ts";
import { type FramesOptions, startFrames, withIds } from "./frames_state.ts";
import { resultFrame } from "./result_frame.ts";
import { unavailableFrame } from "./unavailable_frame.ts";

/** What `claude -p` of a version prints for a slash command that it answers without the model. */
export function answerFrames(
  options: FramesOptions,
  { text, version }: { readonly text: string; readonly version: string },
): { readonly frames: readonly Frame[]; readonly result: ResultFrame } {
  const { state, frames: begun } = begin(startFrames(options), version);
  const { sessionId } = options;
  const { made: { answer, result } } = withIds(state, (newUuid) => ({
    answer: unavailableFrame(text, {
      version,
      sessionId,
      uuid: newUuid(),
      messageId: newUuid(),
      timestamp: new Date(options.startedAt).toISOString(),
    }),
    result: resultFrame({
      version,
      sessionId,
      uuid: newUuid(),
      outcome: { kind: "local", text },
      turns: [],
      cost: { totalUsd: 0, apiDurationMs: 0, modelUsage: {}, hasUnknownPrice: undefined },
      sinceLast: "everything",
    }),
  }));
  return { frames: [...begun, answer, result], result };
}
