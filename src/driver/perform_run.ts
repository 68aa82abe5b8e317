import { LibcError } from "../../ffi/errno.ts";
import type { Frame } from "../wire/frame.ts";
import { DriverError } from "./driver_error.ts";
import { liveFrames } from "./live_frames.ts";
import type { PreparedRun } from "./prepare_run.ts";
import type { RunReport } from "./run_report.ts";
import { runSession } from "./run_session.ts";
import type { StopSignals } from "./stop_signals.ts";

/**
 * Starts the child, follows it to its end and says what became of the turn.
 *
 * What reads the transcript is loaded while the child ends: at its start it needs every core itself.
 *
 * @param options.emit takes each frame but the result as it happens; absent when nobody wants them
 * @throws {DriverError} when the pseudo-terminal or the child cannot be had
 */
export async function performRun(
  prepared: PreparedRun,
  options: {
    readonly signals: StopSignals;
    readonly altered: string | undefined;
    readonly emit: ((frame: Frame) => void) | undefined;
    readonly trace: (text: string) => void;
  },
): Promise<RunReport> {
  const live = liveFrames(prepared, options.emit);
  let conclusion: Promise<typeof import("./conclude_run.ts")> | undefined;
  const session = await runSession({
    ...prepared,
    cwd: prepared.options.cwd,
    signals: options.signals,
    onTranscriptLine: live.push,
    onHook: (event, payload) => {
      const model = payload["model"];
      if (event === "SessionStart" && typeof model === "string") live.setModel(model);
    },
    onEnding: () => conclusion = import("./conclude_run.ts"),
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
  await live.finish();
  const { concludeRun } = await (conclusion ?? import("./conclude_run.ts"));
  return concludeRun(prepared, { session, altered: options.altered });
}
