import type { JsonObject } from "../../../json_object.ts";
import type { SettledMessage } from "../../control/message.ts";
import type { Frame } from "../../../claude/wire/frame.ts";
import { awaitMessage } from "../messages.ts";
import type { Report, ReportOptions } from "../result/verdict.ts";
import type { FramesOptions } from "../telling/frames_options.ts";
import { startFrames } from "../telling/frames_state.ts";
import { tellResult } from "./tell_result.ts";

/**
 * What is printed for a message that needs no child, and what became of it.
 *
 * @param options.described what a headless Claude Code has said of the session, if it was asked
 */
export function answerFrames(
  message: SettledMessage,
  options: {
    readonly frames: FramesOptions;
    readonly report: ReportOptions;
    readonly described?: JsonObject | undefined;
  },
): { readonly frames: readonly Frame[]; readonly report: Report } {
  const { frames: given, report, described } = options;
  const begun = startFrames(given, report);
  const { state } = awaitMessage(
    described === undefined ? begun : { ...begun, described },
    message,
  );
  const { frames, state: { reports: [said] } } = tellResult(state, {
    ending: { kind: "settled", message },
    at: 0,
  });
  if (said === undefined) throw new Error("A settled message has no report");
  return { frames, report: said };
}
