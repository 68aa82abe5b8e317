import { answerFrames } from "../frames/answer.ts";
import type { GatedPrompt } from "./gate_prompt.ts";
import type { PreparedRun } from "./prepare_run.ts";
import type { RunReport } from "./run_report.ts";

/** A run without a child: what `claude -p` says to the prompt is known, and asks no model. */
export function answerRun(
  prepared: PreparedRun,
  answer: NonNullable<GatedPrompt["answer"]>,
): RunReport {
  const { frames, result } = answerFrames(prepared.conversation.frames, answer);
  return {
    result,
    unprinted: frames,
    exitCode: 0,
    showScreen: false,
    ...(prepared.options.record === undefined
      ? {}
      : { warning: "There is no recording: this answer needs no child" }),
  };
}
