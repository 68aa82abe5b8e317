import { LibcError } from "../../ffi/errno.ts";
import type { Input } from "../session/input.ts";
import type { ApiRetry } from "../wire/api_retry_frame.ts";
import type { Frame } from "../wire/frame.ts";
import { DriverError } from "./driver_error.ts";
import { liveFrames } from "./live_frames.ts";
import { liveResults } from "./live_results.ts";
import type { PreparedRun } from "./prepare_run.ts";
import type { RunReport } from "./run_report.ts";
import { runSession } from "./run_session.ts";
import type { StopSignals } from "./stop_signals.ts";

/**
 * Starts the child, follows it to its end and says what became of the turn.
 *
 * What reads the transcript is loaded while the child ends: at its start it needs every core itself.
 *
 * @param options.emit takes each frame as it happens, of a run prepared for none only the results of earlier turns;
 * the report has those that are left
 * @param options.onInput takes every input of the session, as `runSession` says
 * @param options.onTranscriptLine takes every new line of the transcript as soon as it is seen
 * @param options.onRetry takes every retry of the API, of a run that was prepared to see them
 * @throws {DriverError} when the pseudo-terminal or the child cannot be had
 */
export async function performRun(
  prepared: PreparedRun,
  options: {
    readonly signals: StopSignals;
    readonly altered: string | undefined;
    readonly emit: ((frame: Frame) => void) | undefined;
    readonly onInput?: (input: Input) => void;
    readonly onTranscriptLine?: (line: string) => void;
    readonly onRetry?: (retry: ApiRetry) => void;
    readonly trace: (text: string) => void;
  },
): Promise<RunReport> {
  const live = options.emit === undefined
    ? undefined
    : (prepared.options.frames ? liveFrames : liveResults)(prepared, options.emit);
  let conclusion: Promise<typeof import("./conclude_run.ts")> | undefined;
  const session = await runSession({
    ...prepared,
    cwd: prepared.options.cwd,
    signals: options.signals,
    onTranscriptLine: (line) => {
      live?.push(line);
      options.onTranscriptLine?.(line);
    },
    onRetry: (retry) => {
      live?.retry(retry);
      options.onRetry?.(retry);
    },
    onHook: (event, payload) => {
      const model = payload["model"];
      if (event === "SessionStart" && typeof model === "string") live?.setModel(model);
      if (event === "Stop") live?.stop(payload);
    },
    onFilesRead: (transcript) => live?.filesRead(transcript),
    onEnding: () => {
      live?.ending();
      conclusion = import("./conclude_run.ts");
    },
    ...(options.onInput === undefined ? {} : { onInput: options.onInput }),
    trace: options.trace,
  }).catch((error) => {
    if (!(error instanceof LibcError)) throw error;
    if (error.path === prepared.options.cwd) {
      throw new DriverError(`Cannot work in ${error.path}: it no longer exists`, {
        suggestion: "Change to a folder that exists: cd ~",
        cause: error,
      });
    }
    throw new DriverError(`Cannot run claude in a pseudo-terminal: ${error.message}`, {
      suggestion: `Look whether it starts by itself: "${prepared.binary}" --version`,
      cause: error,
    });
  });
  await live?.finish();
  const { concludeRun } = await (conclusion ?? import("./conclude_run.ts"));
  return concludeRun(prepared, {
    session,
    altered: options.altered,
    printed: live?.results() ?? 0,
  });
}
