import { ERRNO, LibcError } from "../../ffi/errno.ts";
import type { Outlet } from "../../ffi/outlet.ts";
import type { ConversationEffect } from "../frames/conversation.ts";
import type { Input } from "../session/input.ts";
import type { Frame } from "../wire/frame.ts";
import { DriverError } from "./driver_error.ts";
import type { PreparedRun } from "./prepare_run.ts";
import type { RunReport } from "./run_report.ts";
import { runSession } from "../driver/run_session.ts";
import type { StopSignals } from "../driver/stop_signals.ts";

/**
 * Starts the child, follows it to its end and says what became of the turn. Where an answer is known without a child,
 * that is what became of it.
 *
 * @param options.outlets what is written to meanwhile, to be flushed when it takes what it owes
 * @param options.emit takes each frame as it happens; the report has those of the end
 * @param options.onInput takes every input of the session, as `runSession` says
 * @param options.onEffect takes every effect of the session
 * @throws {DriverError} when the pseudo-terminal or the child cannot be had
 */
export async function performRun(
  prepared: PreparedRun,
  options: {
    readonly signals: StopSignals;
    readonly outlets?: readonly Outlet[];
    readonly emit?: (frame: Frame) => void;
    readonly onInput?: (input: Input) => void;
    readonly onEffect?: (effect: ConversationEffect) => void;
    readonly trace: (text: string) => void;
  },
): Promise<RunReport> {
  const { emit = () => {} } = options;
  if (prepared.gated.answer !== undefined) {
    const { answerRun } = await import("./answer_run.ts");
    return answerRun(prepared, prepared.gated.answer);
  }
  const { frames, record, trace } = prepared.options;
  const { report, lastFrames, lastScreen } = await runSession({
    ...prepared,
    cwd: prepared.options.cwd,
    frames: frames || record !== undefined,
    signals: options.signals,
    ...(options.outlets === undefined ? {} : { outlets: options.outlets }),
    onFrame: emit,
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
  const isFailure = report.problem !== undefined && report.exitCode !== 0;
  return {
    ...report,
    unprinted: lastFrames,
    ...(report.showScreen || (isFailure && trace) ? { screen: (await lastScreen()).lines } : {}),
  };
}
