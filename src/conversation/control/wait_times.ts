import { hasOtherStopHooks, isFollowed, mayBeWoken } from "./follow_ups.ts";
import type { Effect } from "./effect.ts";
import type { SessionOptions } from "./session_options.ts";
import type { SessionState } from "./session_state.ts";
import { deadline } from "./step.ts";

/** How often the files that the child writes are looked at where nothing tells of them, in milliseconds. */
const TICK_MS = 50;
/**
 * The same while nobody hears of a turn before its end: what there is to do before takes seconds, as a look at a dialog. A
 * look takes 0.2 to 0.6 ms of CPU time.
 */
const UNHEARD_TICK_MS = 200;
/** The same while only the child's idle status or its last lines are missing, which the user waits for. */
const SETTLING_TICK_MS = 5;
/** The same while nothing is under way. */
const RESTING_TICK_MS = 500;

/** The same before anything has been said to a child that could take it: many may wait, and for long. */
const UNTOLD_TICK_MS = 5000;

/**
 * How long to wait from one look at the files that the child writes to the next, in milliseconds.
 *
 * @param options.isHeard whether what the child writes matters to somebody before its turn has ended
 */
export function tickMs(
  state: SessionState,
  { isHeard }: { readonly isHeard: boolean } = { isHeard: true },
): number {
  const { phase, endHook } = state;
  if (phase === "settling" || endHook !== undefined) return SETTLING_TICK_MS;
  if (!isHeard && (phase === "starting" || phase === "working")) return UNHEARD_TICK_MS;
  if (phase !== "resting") return TICK_MS;
  return isUntold(state) ? UNTOLD_TICK_MS : RESTING_TICK_MS;
}

/** Whether a child waits that nobody has said anything to yet. */
function isUntold({ turns, queue, reachable, consulted }: SessionState): boolean {
  return turns === 0 && queue.length === 0 && consulted.size === 0 && reachable;
}

/** 2.1.269 dropped keys before 150 ms of quiet. */
const QUIET_MS = 600;
/** The part of the time for a start that is waited for quiet at most, however long the child took to write something. */
const LONGEST_QUIET = 1 / 12;
const IDLE_MS = 3000;
/**
 * How long the child may take to be idle once its turn is over: 24 to 66 ms, and seconds where the machine is busy. A
 * SIGTERM before that loses the answer there, in 4 of 40 runs after Stop and 13 of 40 after StopFailure (measured with 2.1.197).
 */
const SETTLE_MS = 4000;
/** How long an idle child may take to write its turn down: lines are held back for 0.1 s. */
const RECORD_MS = 1500;

/** Looks at the screen of a child that waits for somebody, once it has been quiet. */
export function lookWhenQuiet(): Effect {
  return deadline("look", QUIET_MS);
}

/**
 * Looks at the screen of a child that has not said yet that it is ready, once it has been quiet for longer than it is
 * while it starts: its first output comes after half of that, 0.3 s where the machine has nothing else to do, and
 * seconds where many start at once. The first look loads the terminal's library, 50 ms of CPU time.
 */
export function lookAtStart({ heardAt = 0, options }: SessionState): Effect {
  const longestMs = options.startTimeoutMs * LONGEST_QUIET;
  return deadline("look", Math.max(QUIET_MS, Math.min(2 * heardAt, longestMs)));
}

/** Takes the turn for over if the child stays idle and no hook says anything. */
export function overWhenIdle(): Effect {
  return deadline("idle", IDLE_MS);
}

/** Bounds the wait for a child whose turn is over to become idle. */
function overWhenSettled(state: SessionState): Effect {
  return overAfter(state, SETTLE_MS);
}

/** Bounds the wait for the transcript of a child that is idle after its turn. */
export function overWhenRecorded(state: SessionState): Effect {
  return overAfter(state, RECORD_MS);
}

/** Bounds the wait for the turn with which the child goes on by itself. */
export function overWhenFollowed({ options }: SessionState): Effect {
  return deadline("drain", options.drainTimeoutMs);
}

function overAfter(state: SessionState, longestMs: number): Effect {
  return isFollowed(state)
    ? overWhenFollowed(state)
    : deadline("drain", Math.min(state.options.drainTimeoutMs, longestMs));
}

/**
 * How long a child may take to report what a turn cost. It runs its status line 0.3 s after the last change, where a busy
 * machine takes 2 s to start the shell, and not at all after a turn that was stopped.
 */
const PRICE_MS = 5000;

/** Bounds the wait for what a turn cost. */
export function overWhenPriced(): Effect {
  return deadline("cost", PRICE_MS);
}

/**
 * What has the child tell at once what a turn cost: its help takes the place of the status line, which runs anew as it
 * comes back. `?` shows the help and any other key takes it away; in an input box that is not empty they are a letter
 * and its deletion.
 */
const SHOW_HELP_AND_HIDE_IT = new TextEncoder().encode("?\x7f");

/** Asks the child what the turn cost whose answer is complete: its input box has the keys then, as dialogs have none. */
export function askPrice({ options, stops }: SessionState): readonly Effect[] {
  // In the list of tasks there is no status line, and keys mean something else.
  return isPriceWanted(options) && stops.length === 0
    ? [{ type: "write", bytes: SHOW_HELP_AND_HIDE_IT }]
    : [];
}

/** What is waited for once the end of a turn has been announced. */
export function untilSettled(state: SessionState): readonly Effect[] {
  const { options } = state;
  return [
    deadline("start"),
    deadline("delivery"),
    deadline("look"),
    deadline("idle"),
    // Another Stop hook may make the child go on.
    hasOtherStopHooks(state) ? deadline("drain", options.drainTimeoutMs) : overWhenSettled(state),
    ...(isPriceWanted(options) || mayBeWoken(state) ? [overWhenPriced()] : []),
  ];
}

function isPriceWanted({ conversation, asksStatus }: SessionOptions): boolean {
  return conversation === true || asksStatus === true;
}
