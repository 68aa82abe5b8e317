import type { StopSignals } from "../../driver/stop_signals.ts";
import type { UserTerminal } from "../../driver/user_terminal.ts";
import type { RunMessage } from "./client_message.ts";

/** A run that another process of this program has handed over. */
export interface HandedRun extends Omit<RunMessage, "type" | "age"> {
  /** When it was started, as `performance.now()` tells time here. */
  readonly startedAt: number;
  /** Its stdin, stdout and stderr, as fds of this process, which are closed once the run is over. */
  readonly streams: readonly [stdin: number, stdout: number, stderr: number];
  /** The process that has handed it over. */
  readonly pid: number;
  /** Aborted once nobody waits for it any more, which `signals` have as a SIGPIPE. */
  readonly gone: AbortSignal;
  /** Aborted once SIGQUIT has ended the other process: nothing is said but what of the run stays. */
  readonly quit: AbortSignal;
  /** What it has been told by signals. */
  readonly signals: StopSignals;
  /** Its terminal. */
  readonly terminal: UserTerminal;
  /**
   * To be awaited before anything is done that somebody could see: from then on the other process does not carry the run
   * out itself any more.
   *
   * @throws {GoneError} when it does so already, or is gone
   */
  readonly commit: () => Promise<void>;
  /** Takes what of the run goes on when the other process does not wait for it any more. */
  readonly leave: (rest: Promise<unknown>) => void;
}

/** Whoever has handed a run over does not wait for it any more. */
export class GoneError extends Error {
  override readonly name = "GoneError";

  constructor() {
    super("Nobody waits for the run any more");
  }
}
