import type { SettledMessage } from "../session/message.ts";
import type { Frame } from "../wire/frame.ts";
import { type FramesOptions, startFrames } from "./frames_state.ts";
import { awaitMessage } from "./messages.ts";
import type { Report, ReportOptions } from "./report.ts";
import { tellResult } from "./turn_result.ts";

/** What is printed for a message that needs no child, and what became of it. */
export function answerFrames(
  message: SettledMessage,
  options: { readonly frames: FramesOptions; readonly report: ReportOptions },
): { readonly frames: readonly Frame[]; readonly report: Report } {
  const { state } = awaitMessage(startFrames(options.frames, options.report), message);
  const { frames, state: { reports } } = tellResult(state, {
    ending: { kind: "settled", message },
    at: 0,
  });
  return { frames, report: reports[0] as Report };
}
