import { CliError } from "../cli_error.ts";
import { exitCodeOf, type Outcome } from "../claude/wire/outcome.ts";
import type { StopSignals } from "../driver/stop_signals.ts";
import type { Outlet } from "../../ffi/descriptors/outlet.ts";
import { Poller } from "../../ffi/descriptors/poll.ts";
import type { StopSignal } from "../claude/wire/stop_signal.ts";

/** A run was stopped before it had a child: its time was up, or a signal came. */
export class StoppedError extends CliError {
  override readonly name = "StoppedError";
  /** What a result says of it. */
  readonly outcome: Outcome;

  constructor(
    outcome: Outcome & { readonly message: string },
    options: { readonly suggestion?: string } = {},
  ) {
    super(outcome.message, { ...options, exitCode: exitCodeOf(outcome, false) });
    this.outcome = outcome;
  }
}

/** How long something may be waited for. */
interface TimeLeft {
  /** When the run began, as `performance.now()` tells time, and how long it may take, in milliseconds. */
  readonly startedAt: number;
  readonly timeoutMs: number;
  readonly signals: StopSignals;
}

/**
 * Waits for something that a run needs before it can begin, until its time is up or a signal comes.
 *
 * @param what why the run has not begun, as a clause, such as "stdin had not ended"
 * @throws {StoppedError} then; what was waited for goes on
 */
export async function inTime<Value>(
  wait: Promise<Value>,
  { what, startedAt, timeoutMs, signals }: TimeLeft & { readonly what: string },
): Promise<Value> {
  const stopped = Promise.withResolvers<never>();
  const listen = () => {
    const [signal] = signals.take();
    if (signal === undefined) return;
    const message = `The run was interrupted by ${signal}`;
    stopped.reject(new StoppedError({ kind: "interrupted", signal, message }));
  };
  const timer = setTimeout(() => {
    const message = `The run timed out after ${timeoutMs / 1000} s: ${what}`;
    const suggestion = "End what it waits for, or give it more time with --timeout SECONDS";
    stopped.reject(new StoppedError({ kind: "timeout", message }, { suggestion }));
  }, Math.max(0, startedAt + timeoutMs - performance.now()));
  signals.onArrival = listen;
  listen();
  try {
    return await Promise.race([wait, stopped.promise]);
  } finally {
    clearTimeout(timer);
    signals.onArrival = undefined;
  }
}

/** An outlet and how long its reader may take. */
interface AwaitedReader {
  readonly outlet: Outlet;
  /** Until when it is waited for without a sign of life, as `performance.now()` tells time. */
  readonly until: number;
}

/** A reader that has taken nothing for so long, in milliseconds, is not waited for beyond its time. */
const PATIENCE_MS = 2000;

/**
 * Waits until all that outlets have kept is read, or can be read by nobody any more.
 *
 * A reader is given up when its time is over and it has taken nothing for 2 s; a signal ends its time, a second one
 * the wait. What it has not taken then stays in its outlet.
 *
 * @returns the signal that came, if one did
 */
export async function awaitReaders(
  readers: readonly AwaitedReader[],
  signals: StopSignals,
): Promise<StopSignal | undefined> {
  let awaited = readers.filter(({ outlet }) => outlet.pending > 0)
    .map((reader) => ({ ...reader, left: reader.outlet.pending, takenAt: performance.now() }));
  if (awaited.length === 0) return undefined;
  using stack = new DisposableStack();
  const poller = stack.use(new Poller());
  signals.onArrival = () => poller.wake();
  stack.defer(() => signals.onArrival = undefined);
  let stop: StopSignal | undefined;
  while (awaited.length > 0) {
    for (const signal of signals.take()) {
      // Whose reader left is seen when it is written to.
      if (signal === "SIGPIPE") continue;
      if (stop !== undefined) return stop;
      stop = signal;
    }
    const dueAt = ({ until, takenAt }: { readonly until: number; readonly takenAt: number }) =>
      Math.max(stop === undefined ? until : 0, takenAt + PATIENCE_MS);
    const polledAt = performance.now();
    const polledUntil = Math.max(polledAt, Math.min(...awaited.map(dueAt)));
    await poller.wait(
      awaited.map(({ outlet }) => ({ fd: outlet.fd, write: true })),
      polledUntil - polledAt,
    );
    const now = performance.now();
    // A reader that was stopped together with this program, as by Ctrl-Z, is not late.
    const wasStopped = now - polledUntil > PATIENCE_MS;
    awaited = awaited.flatMap((reader) => {
      const { outlet } = reader;
      outlet.flush();
      if (outlet.pending === 0) return [];
      if (outlet.pending < reader.left || wasStopped) {
        return [{ ...reader, left: outlet.pending, takenAt: now }];
      }
      return now < dueAt(reader) ? [reader] : [];
    });
  }
  return stop;
}
