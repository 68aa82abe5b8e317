import type { Report } from "../conversation/output/result/verdict.ts";
import type { StopSignals } from "../driver/stop_signals.ts";
import type { RunReport } from "./perform_run.ts";
import { resumedOrder } from "./plan/next_order.ts";
import type { RunOrder } from "./plan/run_order.ts";
import { takeStop } from "./waits.ts";

/** The prompt with which Claude Code itself continues a session after a limit. */
const CONTINUE = "Continue from where you left off.";

/** The additional wait after the announced reset of a limit, in milliseconds. */
const GRACE_MS = 5000;

/** The last date of JavaScript, in milliseconds since the epoch. */
const LAST_DATE = 8.64e15;

/** How often signals are checked during the wait, in milliseconds. */
const STEP_MS = 500;

/**
 * When a run that reached a limit can continue, in milliseconds since the epoch; undefined if the run ended for another
 * reason, the time is unknown, or the wait would be too long.
 *
 * @param options.longestMs the maximum wait
 * @param options.now milliseconds since the epoch
 */
export function resetOf(
  { result }: Pick<Report, "result">,
  { longestMs, now }: { readonly longestMs: number; readonly now: number },
): number | undefined {
  const seconds = result.claude_limits?.reached?.resets_at;
  if (seconds === undefined) return undefined;
  // The announced time may be in the past. Counting from now keeps the program from asking the API again and again.
  const until = Math.max(seconds * 1000, now) + GRACE_MS;
  return until <= LAST_DATE && until - now <= longestMs ? until : undefined;
}

/** The order that continues a run after a limit. It includes the cost and requests so far. */
export function orderPastLimit(
  order: RunOrder,
  { result, requests = 0 }: Pick<RunReport, "result" | "requests">,
): RunOrder {
  return {
    ...resumedOrder(order, result.session_id),
    prompt: CONTINUE,
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
 * Waits until a time of the wall clock, so that the wait is not longer on a machine that sleeps.
 *
 * @param until milliseconds since the epoch
 * @param options.each called at each check
 * @throws {StoppedError} when a signal arrives
 */
export async function waitUntil(
  until: number,
  { signals, each }: { readonly signals: StopSignals; readonly each: () => void },
): Promise<void> {
  while (Date.now() < until) {
    const stop = takeStop(signals);
    if (stop !== undefined) throw stop;
    each();
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, Math.min(STEP_MS, until - Date.now()));
    signals.onArrival = resolve;
    await promise;
    signals.onArrival = undefined;
    clearTimeout(timer);
  }
}
