import { SIGNALS } from "../../../ffi/processes/signals.ts";
import { awaitReaders } from "../../run/waits.ts";
import type { StopSignals } from "../../driver/stop_signals.ts";
import type { Outlets } from "./outlets.ts";
import { problemText } from "./report_error.ts";

/** Exit code of a program that could not say what it had to. */
const UNWRITTEN = 2;
/** Exit codes when the reader took too long, and above which those of signals begin. */
const TIMED_OUT = 124;
const SIGNALLED = 128;

/**
 * Waits until stdout has been read, and says with what exit code the program ends: with its own, unless some of its
 * output is lost. A stderr that nobody reads changes nothing. Whoever was signalled waits no longer than for a reader
 * that reads.
 *
 * @param exitCode of what was done
 * @param options.until how long a reader that takes nothing is waited for, as `performance.now()` tells time
 * @param options.signals what ends the wait before that
 */
export async function delivered(
  exitCode: number,
  { outlets, until, signals }: {
    readonly outlets: Outlets;
    readonly until: number;
    readonly signals: StopSignals;
  },
): Promise<number> {
  const { stdout, stderr } = outlets;
  if (stdout === undefined || stderr === undefined) return exitCode;
  const told = stderr === stdout ? [] : [{ outlet: stderr, until: 0 }];
  const patience = exitCode > SIGNALLED ? 0 : until;
  const signal = await awaitReaders([{ outlet: stdout, until: patience }, ...told], signals);
  const lost = stdout.pending;
  const isHeard = stderr.pending === 0;
  if (lost > 0) {
    stdout.drop();
    outlets.tell(problemText({
      message: `Cannot deliver the output: nobody reads it, and ${lost} bytes are lost`,
      suggestion: "Read stdout to its end, or give the reader more time with --timeout SECONDS",
    }));
  } else if (stdout.end !== undefined && stdout.end !== "unread") {
    outlets.tell(problemText({
      message: `Cannot write the output: ${stdout.end.description}`,
      suggestion: "Send stdout to a file on a disk with room, or to a program that reads it",
    }));
    exitCode = UNWRITTEN;
  }
  if (isHeard) await awaitReaders(told, signals);
  if (lost === 0 || exitCode !== 0) return exitCode;
  return signal === undefined ? TIMED_OUT : SIGNALLED + SIGNALS[signal];
}
