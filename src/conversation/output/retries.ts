import { hearRetry } from "./live/exact_stream.ts";
import { tellAgain } from "./live/request_status.ts";
import { and, type FramesState, type Told, told } from "./telling/frames_state.ts";
import { type ApiFault, type ApiRetry, type Input, isTurnFailure } from "../control/input.ts";

/** How long Claude Code waits before its first retry, and at most, in milliseconds; each time twice as long. */
const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 32_000;
const SECOND_MS = 1000;

/** After so many requests in a row for which the API has no room Claude Code asks the fallback model, or gives up. */
const OVERLOADS = 3;

/** Tells that a request is made again, unless that has been told before the screen announced it. */
export function tellRetry(before: FramesState, retry: ApiRetry): Told {
  const { fault: _, missed, ...state } = before;
  if (retry.attempt === missed) return told(state);
  if (state.exact !== undefined) return told(hearRetry(state, retry));
  const asked = tellAgain(state, retry);
  if (state.begun) return asked;
  return told({ ...asked.state, early: [...asked.state.early, ...asked.frames] });
}

/** A request has failed that may be made again, or that was; a subagent's is nobody's business. */
export function noteFault(state: FramesState, fault: ApiFault): Told {
  if (state.tasks.size > 0) return told(state);
  const isAgain = fault.attempt === (state.fault?.attempt ?? 0) + 1;
  const next = isAgain ? tellFault(state) : told(state);
  return isRetried(fault) ? told({ ...withoutFault(next.state), fault }, next.frames) : next;
}

/**
 * Tells of a retry that the screen has not announced, on a machine too busy to draw it in time, before what shows that
 * it was made: an answer.
 */
export function tellMissed(state: FramesState, input: Input): Told {
  if (state.fault === undefined) return told(state);
  switch (input.type) {
    case "hook":
      if (input.event === "MessageDisplay") return tellFault(state);
      return told(isTurnFailure(input.event, input.payload) ? withoutFault(state) : state);
    case "stream":
      return input.part.kind === "event" ? tellFault(state) : told(state);
    case "transcript":
      if (input.entry.type !== "assistant") return told(state);
      return input.entry.isApiErrorMessage ? told(withoutFault(state)) : tellFault(state);
    default:
      return told(state);
  }
}

function tellFault(state: FramesState): Told {
  const { fault } = state;
  if (fault === undefined) return told(state);
  const delayMs = Math.min(FIRST_DELAY_MS * 2 ** (fault.attempt - 1), LONGEST_DELAY_MS);
  const retry = { ...fault, delayMs: Math.ceil(delayMs / SECOND_MS) * SECOND_MS };
  return and(tellRetry(state, retry), (state) => told({ ...state, missed: fault.attempt }));
}

function withoutFault({ fault: _, missed: __, ...state }: FramesState): FramesState {
  return state;
}

/** Whether such a request is made again: nothing was wrong with it, and no other model is asked in the place of its own. */
function isRetried({ attempt, maxRetries, status }: ApiFault): boolean {
  if (status === 529) return attempt <= maxRetries && attempt < OVERLOADS;
  return attempt <= maxRetries &&
    (status === null || status === 408 || status === 409 || status === 429 || status >= 500);
}
