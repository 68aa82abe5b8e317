import { answerFrames } from "../frames/answer.ts";
import type { SettledMessage } from "../session/message.ts";
import type { PreparedRun } from "./prepare_run.ts";
import type { RunReport } from "./run_report.ts";

/** A run without a child: what `claude -p` says to the prompt is known, and asks no model. */
export function answerRun(prepared: PreparedRun, message: SettledMessage): RunReport {
  const { frames, report } = answerFrames(message, prepared.conversation);
  return {
    ...report,
    unprinted: frames,
    ...(prepared.options.record === undefined
      ? {}
      : { warning: "There is no recording: this answer needs no child" }),
  };
}
