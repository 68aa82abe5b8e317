import type { ControlStep } from "./control_step.ts";
import { deadline, type Effect, write } from "./effect.ts";
import { hasOtherStopHooks, isFollowed, mayBeWoken } from "./follow_ups.ts";
import type { SessionOptions } from "./session_options.ts";
import type { SessionState } from "./session_state.ts";

/** The interval at which the child's files are read if no event reports a change, in milliseconds. */
const TICK_MS = 50;
/**
 * The interval if the caller sees nothing of a turn before its end, in milliseconds. Earlier actions, such as a look at
 * a dialog, take seconds anyway. One look at the files takes 0.2 to 0.6 ms of CPU time.
 */
const UNWATCHED_TICK_MS = 200;
/** The interval while only the child's idle status or its last lines are missing, for which the user waits. */
const SETTLING_TICK_MS = 5;
/** The interval while nothing is running. */
const RESTING_TICK_MS = 500;

/** The interval for a child that waits for its first message. Many children may wait like this, and for long. */
const UNUSED_TICK_MS = 5000;

/**
 * The time between two looks at the child's files, in milliseconds.
 *
 * @param options.isWatched whether the caller sees the output of a turn before its end
 */
export function tickMs(
  state: SessionState,
  { isWatched }: { readonly isWatched: boolean } = { isWatched: true },
): number {
  const { phase, endHook } = state;
  if (phase === "settling" || endHook !== undefined) return SETTLING_TICK_MS;
  if (!isWatched && (phase === "starting" || phase === "working")) return UNWATCHED_TICK_MS;
  if (phase !== "resting") return TICK_MS;
  return isUnused(state) ? UNUSED_TICK_MS : RESTING_TICK_MS;
}

/** Whether a ready child has had no message and no request yet. */
function isUnused({ turns, queue, isReachable, consultedRequests }: SessionState): boolean {
  return turns === 0 && queue.length === 0 && consultedRequests.size === 0 && isReachable;
}

/** The quiet time after which the screen is examined, in milliseconds. 2.1.269 dropped keys before 150 ms of quiet. */
const QUIET_MS = 600;
/**
 * The maximum wait for quiet, as a part of the start limit. It bounds a wait that grows with the time of the first
 * output.
 */
const LONGEST_QUIET = 1 / 12;
const IDLE_MS = 3000;
/**
 * How long the child may take to be idle after its turn, in milliseconds: it takes 24 to 66 ms, and seconds on a busy
 * machine. An earlier SIGTERM loses the answer there, in 4 of 40 runs after Stop and 13 of 40 after StopFailure
 * (measured with 2.1.197).
 */
const SETTLE_MS = 4000;
/** How long an idle child may take to write its turn, in milliseconds. It delays lines by 0.1 s. */
const RECORD_MS = 1500;

/** Looks at the screen once the child has been quiet. */
export function lookDeadline(): Effect {
  return deadline("look", QUIET_MS);
}

/**
 * Looks at the screen of a child that has not reported that it is ready, once it has been quiet for longer than during
 * a start. The first half of a start has no output: 0.3 s on an idle machine, and seconds if many children start
 * together. The first look loads the terminal's library, which takes 50 ms of CPU time.
 */
export function startLookDeadline({ firstOutputAt = 0, options }: SessionState): Effect {
  const longestMs = options.startTimeoutMs * LONGEST_QUIET;
  return deadline("look", Math.max(QUIET_MS, Math.min(2 * firstOutputAt, longestMs)));
}

/** Assumes the end of the turn if the child stays idle and no hook runs. */
export function idleDeadline(): Effect {
  return deadline("idle", IDLE_MS);
}

/** Limits the wait for the transcript of a child that is idle after its turn. */
export function recordDeadline(state: SessionState): Effect {
  return drainDeadline(state, RECORD_MS);
}

/** Limits the wait for the turn with which the child continues without a message. */
export function followUpDeadline({ options }: SessionState): Effect {
  return deadline("drain", options.drainTimeoutMs);
}

function drainDeadline(state: SessionState, longestMs: number): Effect {
  return isFollowed(state)
    ? followUpDeadline(state)
    : deadline("drain", Math.min(state.options.drainTimeoutMs, longestMs));
}

/**
 * How long a child may take to report the cost of a turn, in milliseconds. It runs its status line 0.3 s after the last
 * change. A busy machine takes 2 s to start the shell. After a stopped turn, it does not run the status line at all.
 */
const COST_MS = 5000;

/** Limits the wait for the cost of a turn. */
export function costDeadline(): Effect {
  return deadline("cost", COST_MS);
}

/**
 * Keys after which the child immediately reports the cost of a turn. Its help replaces the status line, which runs
 * again when it reappears. `?` shows the help and any other key hides it. In a non-empty input box, the two keys type a
 * letter and delete it.
 */
const SHOW_HELP_AND_HIDE_IT = "?\x7f";

/**
 * Asks the child for the cost of a turn with a complete answer. The input box takes the keys, because no dialog is
 * open.
 */
export function askCost(step: ControlStep): void {
  if (canAskCost(step.state)) step.emit(write(SHOW_HELP_AND_HIDE_IT));
}

/** Whether the cost is needed, and the list of tasks is closed. The list has no status line, and other keys. */
export function canAskCost({ options, taskStops }: SessionState): boolean {
  return isCostWanted(options) && taskStops.length === 0;
}

/** Returns the deadlines for the events that are awaited after the announced end of a turn. */
export function settlingDeadlines(state: SessionState): readonly Effect[] {
  const { options } = state;
  return [
    deadline("start"),
    deadline("delivery"),
    deadline("look"),
    deadline("idle"),
    // Another Stop hook may make the child continue.
    hasOtherStopHooks(state)
      ? deadline("drain", options.drainTimeoutMs)
      : drainDeadline(state, SETTLE_MS),
    ...(isCostWanted(options) || mayBeWoken(state) ? [costDeadline()] : []),
  ];
}

function isCostWanted({ conversation, asksStatus }: SessionOptions): boolean {
  return conversation === true || asksStatus === true;
}
