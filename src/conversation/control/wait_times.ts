import type { ControlStep } from "./control_step.ts";
import { deadline, type Effect, write } from "./effect.ts";
import { hasOtherStopHooks, isFollowed, mayBeWoken } from "./follow_ups.ts";
import type { SessionOptions } from "./session_options.ts";
import type { SessionState } from "./session_state.ts";

/** How often the files that the child writes are read where no event tells of them, in milliseconds. */
const TICK_MS = 50;
/**
 * The same where nobody reads a turn before its end: what has to be done earlier takes seconds, as a look at a dialog. One
 * look takes 0.2 to 0.6 ms of CPU time.
 */
const UNHEARD_TICK_MS = 200;
/** The same while only the child's idle status or its last lines are missing, which the user waits for. */
const SETTLING_TICK_MS = 5;
/** The same while nothing is under way. */
const RESTING_TICK_MS = 500;

/** The same for a child that could take its first message: many children may wait like this, and for long. */
const UNTOLD_TICK_MS = 5000;

/**
 * How long to wait from one look at the files that the child writes to the next, in milliseconds.
 *
 * @param options.isHeard whether anybody reads what the child writes before its turn has ended
 */
export function tickMs(
  state: SessionState,
  { isHeard }: { readonly isHeard: boolean } = { isHeard: true },
): number {
  const { phase, endHook } = state;
  if (phase === "settling" || endHook !== undefined) return SETTLING_TICK_MS;
  if (!isHeard && (phase === "starting" || phase === "working")) return UNHEARD_TICK_MS;
  if (phase !== "resting") return TICK_MS;
  return isUnused(state) ? UNTOLD_TICK_MS : RESTING_TICK_MS;
}

/** Whether a ready child has had no message and no request yet. */
function isUnused({ turns, queue, isReachable, consultedRequests }: SessionState): boolean {
  return turns === 0 && queue.length === 0 && consultedRequests.size === 0 && isReachable;
}

/** 2.1.269 dropped keys before 150 ms of quiet. */
const QUIET_MS = 600;
/** The part of the time for a start that quiet is waited for at most, however long the child took to its first output. */
const LONGEST_QUIET = 1 / 12;
const IDLE_MS = 3000;
/**
 * How long the child may take to be idle once its turn is over: 24 to 66 ms, and seconds on a busy machine. A SIGTERM before
 * that loses the answer there, in 4 of 40 runs after Stop and 13 of 40 after StopFailure (measured with 2.1.197).
 */
const SETTLE_MS = 4000;
/** How long an idle child may take to write its turn down: it delays lines by 0.1 s. */
const RECORD_MS = 1500;

/** Looks at the screen once the child has been quiet. */
export function lookDeadline(): Effect {
  return deadline("look", QUIET_MS);
}

/**
 * Looks at the screen of a child that has not reported yet that it is ready, once it has been quiet for longer than it is
 * while it starts. Half of a start passes before the first output: 0.3 s on an idle machine, and seconds where many
 * children start at once. The first look loads the terminal's library, which takes 50 ms of CPU time.
 */
export function startLookDeadline({ firstOutputAt = 0, options }: SessionState): Effect {
  const longestMs = options.startTimeoutMs * LONGEST_QUIET;
  return deadline("look", Math.max(QUIET_MS, Math.min(2 * firstOutputAt, longestMs)));
}

/** Takes the turn for over if the child stays idle and no hook runs. */
export function idleDeadline(): Effect {
  return deadline("idle", IDLE_MS);
}

/** Bounds the wait for the transcript of a child that is idle after its turn. */
export function recordDeadline(state: SessionState): Effect {
  return drainDeadline(state, RECORD_MS);
}

/** Bounds the wait for the turn with which the child goes on by itself. */
export function followUpDeadline({ options }: SessionState): Effect {
  return deadline("drain", options.drainTimeoutMs);
}

function drainDeadline(state: SessionState, longestMs: number): Effect {
  return isFollowed(state)
    ? followUpDeadline(state)
    : deadline("drain", Math.min(state.options.drainTimeoutMs, longestMs));
}

/**
 * How long a child may take to report what a turn cost. It runs its status line 0.3 s after the last change, where a busy
 * machine takes 2 s to start the shell, and not at all after a turn that was stopped.
 */
const COST_MS = 5000;

/** Bounds the wait for what a turn cost. */
export function costDeadline(): Effect {
  return deadline("cost", COST_MS);
}

/**
 * Keys after which the child reports at once what a turn cost: its help takes the place of the status line, which runs anew
 * as it comes back. `?` shows the help and any other key hides it; in an input box that is not empty they are a letter and
 * its deletion.
 */
const SHOW_HELP_AND_HIDE_IT = "?\x7f";

/** Has the child report the cost of a turn with a complete answer: the input box takes the keys, as no dialog is open. */
export function askCost(step: ControlStep): void {
  if (canAskCost(step.state)) step.emit(write(SHOW_HELP_AND_HIDE_IT));
}

/** Whether the cost is wanted, and the list of tasks is closed: that has no status line, and other keys. */
export function canAskCost({ options, taskStops }: SessionState): boolean {
  return isCostWanted(options) && taskStops.length === 0;
}

/** Returns the deadlines for what is waited for once the end of a turn has been announced. */
export function settlingDeadlines(state: SessionState): readonly Effect[] {
  const { options } = state;
  return [
    deadline("start"),
    deadline("delivery"),
    deadline("look"),
    deadline("idle"),
    // Another Stop hook may make the child go on.
    hasOtherStopHooks(state)
      ? deadline("drain", options.drainTimeoutMs)
      : drainDeadline(state, SETTLE_MS),
    ...(isCostWanted(options) || mayBeWoken(state) ? [costDeadline()] : []),
  ];
}

function isCostWanted({ conversation, asksStatus }: SessionOptions): boolean {
  return conversation === true || asksStatus === true;
}
