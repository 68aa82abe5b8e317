import {
  givenUp,
  hasOtherStopHooks,
  isFollowed,
  isToBeWoken,
  mayBeWoken,
  overWhenNotWoken,
  withAwaitedWakeup,
} from "./follow_ups.ts";
import { refuseWithdrawn } from "../protocol/answering.ts";
import { withdraw } from "../protocol/questions/unanswered.ts";
import { isOutputWritten } from "../protocol/structured_output.ts";
import { began, isSubmitted } from "./begin_turn.ts";
import { cleared, isWritten, untilLost } from "./stop_turn.ts";
import { announced, announces, end, settledEnding } from "./end_session.ts";
import type { Effect, Ending } from "./effect.ts";
import { handToChild } from "./deliver.ts";
import { type Prompt, ticketsOf } from "./message.ts";
import { type ChildStatus, isLast, type SessionState } from "./session_state.ts";
import { NO_TURN } from "./turn_state.ts";
import { act, andThen, deadline, stay, type Step } from "./step.ts";
import { takeFirst } from "./taken_prompts.ts";
import { askPrice, untilSettled } from "./wait_times.ts";

/**
 * Ends a turn that the child outlives, and with it the run if it was the last one.
 *
 * @param options.recorded whether the transcript holds the turn by now, or its lines are not waited for
 * @param options.followed whether the child has gone on by itself
 */
export function overTurn(
  before: SessionState,
  ending: Ending,
  { recorded = true, followed = false }: {
    readonly recorded?: boolean;
    readonly followed?: boolean;
  } = {},
): Step {
  const { state, effects: withdrawn } = andThen(
    withdraw(before, { keepsPrompts: before.phase === "settling" || isWritten(before) }),
    refuseWithdrawn,
  );
  const awaitsWakeup = !followed && isFollowedByWakeup(state, ending);
  if (isLast(state) && !followed && !awaitsWakeup) {
    const last = end(state, ending);
    return act(last.state, [...withdrawn, ...last.effects]);
  }
  const { ending: _, ...rest } = awaitsWakeup ? withAwaitedWakeup(state) : state;
  const isNext = state.sent.length > 0;
  const unwritten = unwrittenMessages(state, ending);
  const after: SessionState = {
    ...rest,
    ...NO_TURN,
    turns: state.turns + 1,
    // The line of a command is not waited for: one that is stopped during the hooks of its prompt has none.
    unwritten: state.unwritten.filter((prompt) =>
      prompt.command === undefined || !state.taken.includes(prompt)
    ),
    late: !recorded || unwritten.some(({ command }) => command === undefined),
    shaken: isNext && state.escapes > 0,
    ...(isNext ? { phase: "entered", entersAgain: false } : { phase: "resting" }),
  };
  // Before all its lines are there, the child has gone on with another one, which comes first.
  const over = isLast(state) || !recorded ? stay(after) : handToChild(after);
  const { deliveryTimeoutMs, timeoutMs, conversation } = state.options;
  return act(over.state, [
    ...withdrawn,
    { type: "trace", text: `turn over: ${ending.kind}` },
    // The child waits until its hook is answered.
    ...(state.stopHook === undefined ? [] : [state.stopHook]),
    ...TURN_DEADLINES.map((name) => deadline(name)),
    untilLost(after),
    ...cleared(state),
    deadline("delivery", isNext ? deliveryTimeoutMs : undefined),
    ...(conversation && state.isBounded !== true
      ? [deadline("timeout", isNext ? timeoutMs : undefined)]
      : []),
    {
      type: "turn",
      ending,
      recorded,
      tickets: ticketsOf(state.taken),
      ...(unwritten.length === 0 ? {} : { unwritten }),
    },
    ...overWhenNotWoken(over.state),
    ...over.effects,
  ]);
}

/**
 * What the child has taken and its transcript does not hold, though the turn is over: on a busy machine it may write that
 * seconds after it is idle. A command may leave no line, which only matters where it was stopped: nothing else tells then
 * that it was taken.
 */
function unwrittenMessages(
  { recorded, taken, unwritten }: SessionState,
  { kind }: Ending,
): readonly Prompt[] {
  return recorded
    ? []
    : taken.filter((prompt) =>
      unwritten.includes(prompt) && (prompt.command === undefined || kind === "aborted")
    );
}

/**
 * Ends the turn that settles, or that an answer of the caller's has stopped, and begins the next one, which is known to
 * have begun; undefined where no turn ends. The run ends instead where the turn was the last and `claude -p` would not go
 * on after it.
 *
 * @param options.woken whether the next one is that for which the model is woken
 * @param options.noticed whether it is that of the end of a task
 */
export function intoNextTurn(
  before: SessionState,
  { woken = false, noticed = false }: {
    readonly woken?: boolean;
    readonly noticed?: boolean;
  } = {},
): Step | undefined {
  const ending = followedEnding(before);
  if (ending === undefined) return undefined;
  const followed = ending.kind === "aborted" || mayBeFollowed(ending);
  const over = overTurn(before, ending, { recorded: false, followed });
  const next = began({ ...over.state, woken, noticed });
  return act(next.state, [...over.effects, ...next.effects]);
}

/** How a turn has ended after which the child goes on by itself. Of one that Escape is to end, only its lines tell. */
function followedEnding(state: SessionState): Ending | undefined {
  const { phase, escapes } = state;
  if (phase === "aborting") {
    return escapes === 0 && isWritten(state) ? { kind: "aborted" } : undefined;
  }
  return phase === "settling" ? settledEnding(state) : undefined;
}

/** Whether there is nothing left to do after a turn but to wait for the model to be woken, as `claude -p` does. */
function isFollowedByWakeup(state: SessionState, ending: Ending): boolean {
  return isLast(state) && mayBeFollowed(ending) && isToBeWoken(state);
}

/** Whether `claude -p` goes on after such a turn with the end of a task, or once the model is woken. */
function mayBeFollowed({ kind }: Ending): boolean {
  return kind === "answered" || kind === "failed" || kind === "max-turns";
}

/**
 * Whether something follows the last turn, or may do so: the end of a task that has ended by now is in the transcript
 * no later than the end of the turn.
 */
function awaitsNext(state: SessionState, ending: Ending): boolean {
  if (!isLast(state) || !mayBeFollowed(ending)) return false;
  return isFollowed(state) ||
    (ending.kind === "answered" && state.childQueue.running.size > 0 && !state.summed);
}

/** What is only waited for in a turn. */
const TURN_DEADLINES = [
  "drain",
  "idle",
  "interrupt",
  "background",
  "cost",
  "enter",
  "echo",
  "look",
] as const;

/**
 * Ends a turn whose end a hook has announced once the child is idle and the transcript holds the turn; where another
 * message may follow, once the child has told what it cost, too.
 *
 * Claude Code writes lines 0.1 s late. A SIGTERM before that can lose the prompt and the answer: 1 of 6 runs with 2.1.280
 * and with 2.1.305.
 */
export function overOnRecord(state: SessionState): Step | undefined {
  const { phase, status } = state;
  if (phase !== "settling" || status?.status !== "idle" || isStale(state, status)) return undefined;
  const settled = settledEnding(state);
  if (settled === undefined || awaitsNext(state, settled)) return undefined;
  if (!isOnRecord(state)) return overAtOnce(state);
  return isAwaitingStatus(state) ? undefined : overTurn(state, settled);
}

/** Whether the child has yet to tell what the turn cost, and what is left of limits. */
export function isAwaitingStatus(state: SessionState): boolean {
  const { conversation, asksStatus } = state.options;
  const ending = settledEnding(state);
  return !state.priced &&
    (asksStatus === true || (conversation === true && !isLast(state)) ||
      (ending !== undefined && isFollowedByWakeup(state, ending)));
}

/**
 * Whether a child that says it is idle was so before the end of its turn: on a busy machine the status of the start
 * stands in its file until after the Stop hook of a short turn.
 */
export function isStale(
  { announcedAt }: SessionState,
  { status, updatedAt }: ChildStatus,
): boolean {
  return status === "idle" && announcedAt !== undefined && updatedAt !== undefined &&
    updatedAt < announcedAt;
}

/** What the turn cost is known, or has been waited for long enough: the child may go on with what it has in its queue. */
export function onPriced(before: SessionState): Step {
  const { stopHook, ...rest } = before;
  const state: SessionState = { ...rest, stopHook: undefined, priced: true };
  const over = (state.phase === "settling" ? overAtOnce(state) : undefined) ??
    overOnRecord(state) ?? stay(state);
  return stopHook === undefined ? over : act(over.state, [stopHook, ...over.effects]);
}

/**
 * Ends a run whose last turn's end a hook has announced, where nothing can change it any more. Elsewhere the child has to
 * be idle first, and the transcript to hold the turn.
 *
 * The child writes the lines that it holds back for 0.1 s when it is told to go, but does not wait for them: on two cores
 * with work for twenty, a SIGTERM at Stop took the answer from the transcript of 2.1.330 in 7 of 1,500 runs. So its
 * SessionEnd hook is kept waiting until they are there. They come first where a task in the background may have ended
 * that they tell of.
 */
export function overAtOnce(state: SessionState): Step | undefined {
  const over = lastAnnounced(state);
  return over !== undefined && hasEndedStop(state) && (state.taskless || isOnRecord(state)) &&
      !isAwaitingStatus(state)
    ? end(state, over)
    : undefined;
}

/** The announced end of the last turn, where nothing is known that may follow it, and the child is kept at its end. */
function lastAnnounced(state: SessionState): Ending | undefined {
  const over = announced(state);
  const { keptAtEnd, output } = state.options;
  return keptAtEnd && output === undefined && over?.kind === "answered" && isLast(state) &&
      !awaitsNext(state, over) && !mayBeWoken(state)
    ? over
    : undefined;
}

/**
 * Whether the Stop hook is over: one that waits for an answer, as that of most conversations does, has not ended when it
 * is given one, and would be noted to have failed. A child that has been idle since has seen its end.
 */
function hasEndedStop(state: SessionState): boolean {
  const { isStopAsking, announcedAt, status } = state;
  return !isStopAsking ||
    (announcedAt !== undefined && status?.status === "idle" && !isStale(state, status));
}

/**
 * Asks whether the session has started anything that may be in the background: a folder tells it at once, and the
 * transcript 0.1 s later.
 */
export function askTasks(state: SessionState): readonly Effect[] {
  return !isOnRecord(state) && lastAnnounced(state) !== undefined ? [{ type: "list-shells" }] : [];
}

/** It has not: nothing that is still to be read can make the child go on. */
export function onTaskless(state: SessionState): Step {
  if (state.phase !== "settling") return stay(state);
  const taskless: SessionState = { ...state, taskless: true };
  return overAtOnce(taskless) ?? stay(taskless);
}

/**
 * Ends a turn that no hook ends, once the child is idle and the transcript says why: a command has been carried out, or
 * the prompt was blocked.
 */
export function overWhenCarriedOut(state: SessionState): Step | undefined {
  // A child that is busy for no longer than its hooks take may never have been seen to be.
  const isUnderWay = isSubmitted(state) && state.phase !== "settling" && state.phase !== "aborting";
  if (state.blocked !== undefined && isUnderWay && state.status?.status === "idle") {
    const { sent, taken } = state;
    const first = taken.length > 0 ? 0 : 1;
    return overTurn({
      ...state,
      taken: [...taken, ...sent.slice(0, first)],
      sent: sent.slice(first),
    }, {
      kind: "blocked",
      text: state.blocked,
    });
  }
  const { carriedOut, status } = state;
  if (!carriedOut || state.phase !== "working" || status?.status !== "idle") return undefined;
  // In the place of a Stop: what it cost may have to be known yet, and a child that is not asked does not tell.
  const asking = isAwaitingStatus({ ...state, priced: false }) ? askPrice(state) : [];
  const settling: SessionState = {
    ...takeFirst(state),
    phase: "settling",
    stop: {},
    summed: true,
    priced: asking.length === 0,
  };
  return overOnRecord(settling) ?? act(settling, [...untilSettled(state), ...asking]);
}

/**
 * Ends a turn of a child whose hooks are turned off, once it is not busy and the transcript says that the turn is over. A
 * failed request may put a menu on the screen, as a rate limit does.
 */
export function overWithoutHooks(state: SessionState): Step | undefined {
  const { options, phase, completed, status } = state;
  return options.hookless === true && phase === "working" && completed &&
      status !== undefined && status.status !== "busy" && !isFollowed(state)
    ? overTurn(state, { kind: "answered", stop: {} })
    : undefined;
}

/** Ends a turn that has been waited for long enough. */
export function overInAnyCase(state: SessionState): Step {
  const settled = state.phase === "settling" ? settledEnding(state) : undefined;
  if (settled === undefined) return stay(state);
  const over = overTurn(givenUp(state), settled);
  return act(over.state, [
    { type: "trace", text: "not idle and on record in time" },
    ...over.effects,
  ]);
}

/**
 * Whether the transcript holds the prompt, the structured answer, and the text that the hook spoke of. One that stops a
 * turn at its limit speaks of none, and runs before the results of tools are written, or even their calls: the end of
 * the turn tells that they are there.
 */
function isOnRecord(state: SessionState): boolean {
  const { recorded, completed, summed, limited, atLimit, carriedOut, stop, failure, answer } =
    state;
  if (!recorded || !isOutputWritten(state)) return false;
  const isAwaitingEnd = atLimit || limited !== undefined || mayBeWoken(state) ||
    isAwaitingStopHooks(state);
  if (isAwaitingEnd && !summed) return false;
  // What a command says is no answer.
  if (carriedOut) return true;
  const message = (stop ?? failure)?.["last_assistant_message"];
  if (completed || typeof message !== "string" || message.trim() === "") return true;
  return announces(message, answer);
}

/**
 * Whether what other Stop hooks have said is to be told ahead of the result: the child writes that down once all of them
 * are over, and the end of the turn behind it. Of the last turn all is read before its result is printed.
 */
function isAwaitingStopHooks(state: SessionState): boolean {
  return state.options.conversation === true && state.stop !== undefined && !state.carriedOut &&
    hasOtherStopHooks(state);
}
