import { type ApiFault, type ApiRetry, type Input, isTurnFailure } from "../control/input.ts";
import type { OutputStep } from "./output_state.ts";
import { emitRetry } from "./live/stream_frames.ts";
import { receiveRetry } from "./live/exact_stream.ts";

/**
 * The delay before Claude Code's first retry, and the maximum delay, in milliseconds. The delay doubles with each
 * retry.
 */
const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 32_000;
const SECOND_MS = 1000;

/** The number of overload errors in a row after which Claude Code asks the fallback model, or gives up. */
const OVERLOADS = 3;

/** Emits that a request is repeated, unless the retry was emitted before the screen announced it. */
export function receiveApiRetry(step: OutputStep, retry: ApiRetry): void {
  const { emittedRetry, exact, hasInit } = step.state;
  forgetFault(step);
  if (retry.attempt === emittedRetry) return;
  if (exact !== undefined) {
    receiveRetry(step, retry);
    return;
  }
  const frames = step.capture(() => emitRetry(step, retry));
  if (hasInit) step.emit(...frames);
  else step.update({ framesAfterInit: [...step.state.framesAfterInit, ...frames] });
}

/** Records a failed request that Claude Code may repeat. Requests of subagents are not printed. */
export function recordFault(step: OutputStep, fault: ApiFault): void {
  const { tasks, fault: before } = step.state;
  if (tasks.size > 0) return;
  if (fault.attempt === (before?.attempt ?? 0) + 1) emitFault(step);
  if (!isRetried(fault)) return;
  step.update({ fault, emittedRetry: undefined });
}

/**
 * Emits a retry that the screen has not announced, before the input that proves it (an answer). On a busy machine the
 * child may draw the announcement too late.
 */
export function emitMissedRetry(step: OutputStep, input: Input): void {
  if (step.state.fault === undefined) return;
  switch (input.type) {
    case "hook":
      if (input.event === "MessageDisplay") emitFault(step);
      else if (isTurnFailure(input.event, input.payload)) forgetFault(step);
      return;
    case "stream":
      if (input.part.kind === "event") emitFault(step);
      return;
    case "transcript":
      if (input.entry.type !== "assistant") return;
      if (input.entry.isApiErrorMessage) forgetFault(step);
      else emitFault(step);
  }
}

/** Emits that the last failed request was repeated. */
function emitFault(step: OutputStep): void {
  const { fault } = step.state;
  if (fault === undefined) return;
  const delayMs = Math.min(FIRST_DELAY_MS * 2 ** (fault.attempt - 1), LONGEST_DELAY_MS);
  receiveApiRetry(step, { ...fault, delayMs: Math.ceil(delayMs / SECOND_MS) * SECOND_MS });
  step.update({ emittedRetry: fault.attempt });
}

function forgetFault(step: OutputStep): void {
  step.update({ fault: undefined, emittedRetry: undefined });
}

/**
 * Whether Claude Code repeats a request that failed in this way: the request itself was valid, and no fallback model is
 * asked instead.
 */
function isRetried({ attempt, maxRetries, status }: ApiFault): boolean {
  if (status === 529) return attempt <= maxRetries && attempt < OVERLOADS;
  return attempt <= maxRetries &&
    (status === null || status === 408 || status === 409 || status === 429 || status >= 500);
}
