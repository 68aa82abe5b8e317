import { ERRNO, LibcError } from "../../ffi/errno.ts";
import type { Outlet } from "../../ffi/outlet.ts";
import type { Effect } from "../session/effect.ts";
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
 * Starts the child, follows it to its end and says what became of the turn. Where an answer is known without a child,
 * that is what became of it.
 *
 * What reads the transcript is loaded while the child ends: at its start it needs every core itself.
 *
 * @param options.outlets what is written to meanwhile, to be flushed when it takes what it owes
 * @param options.emit takes each frame as it happens, of a run prepared for none only the results of earlier turns;
 * the report has those that are left
 * @param options.onInput takes every input of the session, as `runSession` says
 * @param options.onEffect takes every effect of the session
 * @param options.onFrame takes every frame as stream-json prints it, whatever is printed, of a run that was prepared to
 * be recorded
 * @param options.onTranscriptLine takes every new line of the transcript as soon as it is seen
 * @param options.onRetry takes every retry of the API, of a run that was prepared to see them
 * @throws {DriverError} when the pseudo-terminal or the child cannot be had
 */
export async function performRun(
  prepared: PreparedRun,
  options: {
    readonly signals: StopSignals;
    readonly outlets?: readonly Outlet[];
    readonly altered: string | undefined;
    readonly emit: ((frame: Frame) => void) | undefined;
    readonly onInput?: (input: Input) => void;
    readonly onEffect?: (effect: Effect) => void;
    readonly onFrame?: ((frame: Frame) => void) | undefined;
    readonly onTranscriptLine?: (line: string) => void;
    readonly onRetry?: (retry: ApiRetry) => void;
    readonly trace: (text: string) => void;
  },
): Promise<RunReport> {
  const { emit, onFrame } = options;
  const { frames } = prepared.options;
  if (prepared.gated.answer !== undefined) {
    const { answerRun } = await import("./answer_run.ts");
    return answerRun(prepared, { answer: prepared.gated.answer, emit });
  }
  const printing = emit === undefined ? undefined : frames
    ? liveFrames(prepared, (frame) => {
      emit(frame);
      onFrame?.(frame);
    })
    : liveResults(prepared, emit);
  // What is printed must not depend on whether it is recorded, so frames that are not are made beside it.
  const unprinted = onFrame === undefined || frames
    ? undefined
    : { ...prepared, options: { ...prepared.options, frames: true } };
  const taping = unprinted && onFrame && liveFrames(unprinted, onFrame);
  const live = [printing, taping].filter((each) => each !== undefined);
  let conclusion: Promise<typeof import("./conclude_run.ts")> | undefined;
  const session = await runSession({
    ...prepared,
    cwd: prepared.options.cwd,
    signals: options.signals,
    ...(options.outlets === undefined ? {} : { outlets: options.outlets }),
    onTranscriptLine: (line) => {
      for (const each of live) each.push(line);
      options.onTranscriptLine?.(line);
    },
    onRetry: (retry) => {
      for (const each of live) each.retry(retry);
      options.onRetry?.(retry);
    },
    onHook: (event, payload) => {
      const model = payload["model"];
      for (const each of live) {
        if (event === "SessionStart" && typeof model === "string") each.setModel(model);
        if (event === "Stop") each.stop(payload);
      }
    },
    onFilesRead: (transcript) => {
      for (const each of live) each.filesRead(transcript);
    },
    onEnding: () => {
      for (const each of live) each.ending();
      conclusion = import("./conclude_run.ts");
    },
    ...(options.onInput === undefined ? {} : { onInput: options.onInput }),
    ...(options.onEffect === undefined ? {} : { onEffect: options.onEffect }),
    trace: options.trace,
  }).catch((error) => {
    if (!(error instanceof LibcError)) throw error;
    if (error.path === prepared.options.cwd) {
      const why = error.code === "ENOENT" ? "it no longer exists" : error.description;
      throw new DriverError(`Cannot work in ${error.path}: ${why}`, {
        suggestion: "Change to a folder that exists and that you may enter: cd ~",
        cause: error,
      });
    }
    if (error.call === "posix_spawnp" && error.errno === ERRNO.EAGAIN) {
      throw new DriverError("Cannot start claude: there are as many processes as there may be", {
        suggestion: "End some, or raise the limit: ulimit -u, or that of the container",
        cause: error,
      });
    }
    throw new DriverError(`Cannot run claude in a pseudo-terminal: ${error.message}`, {
      suggestion: error.path === prepared.binary
        ? `Look whether it starts by itself: "${prepared.binary}" --version`
        : "Look at what claude-print doctor says of pty and fifo, and at the limits: ulimit -a",
      cause: error,
    });
  });
  await Promise.all(live.map((each) => each.finish()));
  const { concludeRun } = await (conclusion ?? import("./conclude_run.ts"));
  const { altered } = options;
  const report = await concludeRun(prepared, {
    session,
    altered,
    printed: printing?.results() ?? 0,
  });
  if (onFrame === undefined) return report;
  const taped = unprinted === undefined || taping === undefined
    ? report
    : await concludeRun(unprinted, { session, altered, printed: taping.results() });
  for (const result of taped.unprinted) {
    onFrame(result === taped.result ? { ...result, uuid: report.result["uuid"] } : result);
  }
  return report;
}
