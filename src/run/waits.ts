import type { Outlet } from "../../ffi/descriptors/outlet.ts";
import { Poller } from "../../ffi/descriptors/poll.ts";
import { exitCodeOf, type Outcome } from "../claude/wire/outcome.ts";
import type { StopSignal } from "../claude/wire/stop_signal.ts";
import { CliError } from "../cli_error.ts";
import type { StopSignals } from "../driver/stop_signals.ts";

/** A run was stopped while it had no child, because its time expired or a signal arrived. */
export class StoppedError extends CliError {
  override readonly name = "StoppedError";
  /** The outcome for the result. */
  readonly outcome: Outcome;

  constructor(
    outcome: Outcome & { readonly message: string },
    options: { readonly suggestion?: string } = {},
  ) {
    super(outcome.message, { ...options, exitCode: exitCodeOf(outcome, false) });
    this.outcome = outcome;
  }
}

/** Takes the signals that have arrived. Returns the error for the first one. */
export function takeStop(signals: StopSignals): StoppedError | undefined {
  const [signal] = signals.take();
  if (signal === undefined) return undefined;
  const message = `The run was interrupted by ${signal}`;
  return new StoppedError({ kind: "interrupted", signal, message });
}

/** The time of a run. */
interface RunTime {
  /** The start of the run, on the clock of `performance.now()`. */
  readonly startedAt: number;
  /** The time limit in milliseconds, counted from the start. */
  readonly timeoutMs: number;
  readonly signals: StopSignals;
}

/**
 * Waits for a promise until the run's time has expired or a signal arrives.
 *
 * @param options.what why the run has not begun, as a clause, such as "stdin had not ended"
 * @throws {StoppedError} in these two cases; the promise is left pending
 */
export async function inTime<Value>(
  wait: Promise<Value>,
  { what, startedAt, timeoutMs, signals }: RunTime & { readonly what: string },
): Promise<Value> {
  const stopped = Promise.withResolvers<never>();
  const stopAtSignal = () => {
    const stop = takeStop(signals);
    if (stop !== undefined) stopped.reject(stop);
  };
  const timer = setTimeout(() => {
    const message = `The run timed out after ${timeoutMs / 1000} s: ${what}`;
    const suggestion = "End what it waits for, or give it more time with --timeout SECONDS";
    stopped.reject(new StoppedError({ kind: "timeout", message }, { suggestion }));
  }, Math.max(0, startedAt + timeoutMs - performance.now()));
  signals.onArrival = stopAtSignal;
  stopAtSignal();
  try {
    return await Promise.race([wait, stopped.promise]);
  } finally {
    clearTimeout(timer);
    signals.onArrival = undefined;
  }
}

/** An outlet, and the time limit of its reader. */
interface AwaitedReader {
  readonly outlet: Outlet;
  /** The time until which the reader may be idle, on the clock of `performance.now()`. */
  readonly until: number;
}

/** How long a reader may be idle after its time limit, in milliseconds. */
const PATIENCE_MS = 2000;

/**
 * Waits until the readers of outlets have read all output, or have disconnected.
 *
 * A reader is abandoned when its time has expired and it has read nothing for 2 s. The unread output stays in its
 * outlet. A signal ends the time of all readers, a second signal ends the wait.
 *
 * @returns the first signal that arrived
 */
export async function awaitReaders(
  readers: readonly AwaitedReader[],
  signals: StopSignals,
): Promise<StopSignal | undefined> {
  let awaited = readers.filter(({ outlet }) => outlet.pending > 0)
    .map((reader) => ({ ...reader, left: reader.outlet.pending, readAt: performance.now() }));
  if (awaited.length === 0) return undefined;
  using stack = new DisposableStack();
  const poller = stack.use(new Poller());
  signals.onArrival = () => poller.wake();
  stack.defer(() => signals.onArrival = undefined);
  let stop: StopSignal | undefined;
  while (awaited.length > 0) {
    for (const signal of signals.take()) {
      // Writing detects a reader that has disconnected.
      if (signal === "SIGPIPE") continue;
      if (stop !== undefined) return stop;
      stop = signal;
    }
    const dueAt = ({ until, readAt }: { readonly until: number; readonly readAt: number }) =>
      Math.max(stop === undefined ? until : 0, readAt + PATIENCE_MS);
    const polledAt = performance.now();
    const polledUntil = Math.max(polledAt, Math.min(...awaited.map(dueAt)));
    await poller.wait(
      awaited.map(({ outlet }) => ({ fd: outlet.fd, write: true })),
      polledUntil - polledAt,
    );
    const now = performance.now();
    // Ctrl-Z also suspends the reader, so the reader is not late.
    const wasSuspended = now - polledUntil > PATIENCE_MS;
    awaited = awaited.flatMap((reader) => {
      const { outlet } = reader;
      outlet.flush();
      if (outlet.pending === 0) return [];
      if (outlet.pending < reader.left || wasSuspended) {
        return [{ ...reader, left: outlet.pending, readAt: now }];
      }
      return now < dueAt(reader) ? [reader] : [];
    });
  }
  return stop;
}
