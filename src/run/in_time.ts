import { StoppedError } from "./stopped_error.ts";
import type { StopSignals } from "../driver/stop_signals.ts";

/** How long something may be waited for. */
export interface TimeLeft {
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
