import type { Frame } from "../wire/frame.ts";
import { exitCodeOf } from "../wire/outcome.ts";
import { resultFrame } from "../wire/result_frame.ts";
import { unavailableFrame } from "../wire/unavailable_frame.ts";
import { createFrameStream } from "./create_frame_stream.ts";
import type { GatedPrompt } from "./gate_prompt.ts";
import type { PreparedRun } from "./prepare_run.ts";
import { printedResults } from "./printed_results.ts";
import type { RunReport } from "./run_report.ts";

/** A run without a child: what `claude -p` says to the prompt is known, and asks no model. */
export function answerRun(
  prepared: PreparedRun,
  { answer, emit }: {
    readonly answer: NonNullable<GatedPrompt["answer"]>;
    /** Takes the frames before the result, of a run that is prepared for frames. */
    readonly emit: ((frame: Frame) => void) | undefined;
  },
): RunReport {
  const { text, version } = answer;
  const { sessionId, options: { frames } } = prepared;
  if (frames && emit !== undefined) {
    createFrameStream(prepared, emit).begin(version);
    emit(unavailableFrame(text, {
      version,
      sessionId,
      uuid: crypto.randomUUID(),
      messageId: crypto.randomUUID(),
      timestamp: new Date().toISOString(),
    }));
  }
  const outcome = { kind: "local", text } as const;
  const result = resultFrame({
    version,
    sessionId,
    uuid: crypto.randomUUID(),
    outcome,
    turns: [],
    cost: { totalUsd: 0, apiDurationMs: 0, modelUsage: {}, hasUnknownPrice: undefined },
    sinceLast: frames ? "everything" : undefined,
  });
  return {
    result,
    unprinted: printedResults([result], version),
    exitCode: exitCodeOf(outcome, false),
    ...(prepared.options.record === undefined
      ? {}
      : { warning: "There is no recording: this answer needs no child" }),
  };
}
