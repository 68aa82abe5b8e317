import type { StopSignals } from "../driver/stop_signals.ts";
import type { Report } from "../conversation/output/result/report.ts";
import { resumedOrder } from "./plan/next_order.ts";
import type { RunReport } from "./perform_run.ts";
import type { RunOrder } from "./plan/run_order.ts";
import { StoppedError } from "./waits.ts";

/** What the model is told once a limit has been reset: what Claude Code itself says when a session goes on. */
const GO_ON = "Continue from where you left off.";

/** How much later than Claude Code says a limit may be reset, in milliseconds. */
const GRACE_MS = 5000;

/** The last moment that can be written as a date. */
const LATEST = 8.64e15;

/** How often a signal, and what is still to be written, are looked at meanwhile, in milliseconds. */
const STEP_MS = 500;

/**
 * Until when to wait for a run whose limit is used up, in milliseconds since the epoch; undefined for a run that ended
 * otherwise, a limit of which nobody knows the end, and one that lasts too long.
 *
 * @param options.longestMs the longest wait
 * @param options.now milliseconds since the epoch
 */
export function resetOf(
  { result }: Pick<Report, "result">,
  { longestMs, now }: { readonly longestMs: number; readonly now: number },
): number | undefined {
  const seconds = result.claude_limits?.reached?.resets_at;
  if (seconds === undefined) return undefined;
  // An API that goes on refusing after the time it has told is not asked over and over.
  const until = Math.max(seconds * 1000, now) + GRACE_MS;
  return until <= LATEST && until - now <= longestMs ? until : undefined;
}

/** The order to go on where a limit has stopped a run; what it has paid and asked counts on. */
export function orderPastLimit(
  order: RunOrder,
  { result, requests = 0 }: Pick<RunReport, "result" | "requests">,
): RunOrder {
  return {
    ...resumedOrder(order, result.session_id),
    prompt: GO_ON,
    altered: undefined,
    startedAt: performance.now(),
    requestsMade: requests,
    before: {
      results: 0,
      totalUsd: (order.before?.totalUsd ?? 0) + (result.total_cost_usd ?? 0),
      apiDurationMs: (order.before?.apiDurationMs ?? 0) + (result.duration_api_ms ?? 0),
    },
  };
}

/**
 * Waits until a time, by the clock on the wall: a machine that sleeps does not wait longer.
 *
 * @param until milliseconds since the epoch
 * @param options.each called every now and then
 * @throws {StoppedError} when this program is asked to stop
 */
export async function waitUntil(
  until: number,
  { signals, each }: { readonly signals: StopSignals; readonly each: () => void },
): Promise<void> {
  while (Date.now() < until) {
    const [signal] = signals.take();
    if (signal !== undefined) {
      const message = `The run was interrupted by ${signal}`;
      throw new StoppedError({ kind: "interrupted", signal, message });
    }
    each();
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, Math.min(STEP_MS, until - Date.now()));
    signals.onArrival = resolve;
    await promise;
    signals.onArrival = undefined;
    clearTimeout(timer);
  }
}
