import {
  boundWakeup,
  forgetNotices,
  hasOtherStopHooks,
  isFollowed,
  isToBeWoken,
  mayBeWoken,
} from "./follow_ups.ts";
import { refuseWithdrawn } from "../protocol/answers.ts";
import { withdraw } from "../protocol/questions/unanswered.ts";
import { isOutputWritten } from "../protocol/structured_output.ts";
import { beginTurn, isSubmitted } from "./begin_turn.ts";
import { boundLostPrompt, clearInputBox, isNextPrompt, isPromptRecorded } from "./stop_turn.ts";
import {
  announcedEnding,
  announces,
  endSession,
  interruptChild,
  settledEnding,
} from "./end_session.ts";
import { changePhase, type ControlStep } from "./control_step.ts";
import { deadline, type Ending } from "./effect.ts";
import { deliverNext } from "./deliver.ts";
import { type Prompt, ticketsOf } from "./message.ts";
import { type ChildStatus, isLast, type SessionState } from "./session_state.ts";
import { NO_TURN } from "./turn_state.ts";
import { takeFirst } from "./taken_prompts.ts";
import { askCost, canAskCost, settlingDeadlines } from "./wait_times.ts";

/**
 * Ends a turn that the child outlives, and with it the run if it was the last one.
 *
 * @param options.recorded whether the transcript holds the turn by now, or its lines are not waited for
 * @param options.followed whether the child has gone on by itself
 */
export function endTurn(
  step: ControlStep,
  ending: Ending,
  { recorded = true, followed = false }: {
    readonly recorded?: boolean;
    readonly followed?: boolean;
  } = {},
): void {
  const { state } = step;
  withdraw(step, {
    keepsPrompt: (prompt) => state.phase === "settling" || isNextPrompt(state, prompt),
  });
  refuseWithdrawn(step);
  const isLastTurn = isLast(step.state);
  const awaitsWakeup = !followed && isFollowedByWakeup(step.state, ending);
  if (isLastTurn && !followed && !awaitsWakeup) {
    endSession(step, ending);
    return;
  }
  const { wakeup } = step.state;
  if (awaitsWakeup && wakeup !== undefined) step.update({ wakeup: { ...wakeup, awaited: true } });
  emitTurnEnd(step, { ending, recorded });
  boundWakeup(step);
  // A turn without all of its lines has been followed by another one, whose prompt comes before further messages.
  if (!isLastTurn && recorded) deliverNext(step);
}

/** Forgets the turn, and emits its end and the deadlines of the next one. */
function emitTurnEnd(
  step: ControlStep,
  { ending, recorded }: {
    readonly ending: Ending;
    readonly recorded: boolean;
  },
): void {
  const { sent, taken, escapes, stopHook, options, isBounded } = step.state;
  const endedBy = step.state.announcedAt;
  const isNext = sent.length > 0;
  const unwritten = unwrittenMessages(step.state, ending);
  step.update({
    ...NO_TURN,
    beganAfter: endedBy ?? step.state.beganAfter,
    turns: step.state.turns + 1,
    // A command that is stopped during the hooks of its prompt has no line: no command's line is waited for.
    unwritten: step.state.unwritten.filter((prompt) =>
      prompt.command === undefined || !taken.includes(prompt)
    ),
    awaitsEarlierLines: !recorded || unwritten.some(({ command }) => command === undefined),
    // The turn between may have been that of a task's end. An Escape that the child has not read yet may hit a message to come.
    mayHaveStaleEscape: isNext
      ? escapes > 0 || step.state.mayHaveStaleEscape
      : escapes > 0 && !step.state.hasDrawn,
  });
  changePhase(step, isNext ? { phase: "entered", entersAgain: false } : { phase: "resting" });
  step.emit({ type: "trace", text: `turn over: ${ending.kind}` });
  // The child waits until its hook is answered.
  if (stopHook !== undefined) step.emit(stopHook);
  step.emit(...TURN_DEADLINES.map((name) => deadline(name)));
  boundLostPrompt(step);
  clearInputBox(step, escapes);
  step.emit(deadline("delivery", isNext ? options.deliveryTimeoutMs : undefined));
  if (options.conversation && isBounded !== true) {
    step.emit(deadline("timeout", isNext ? options.timeoutMs : undefined));
  }
  step.emit({
    type: "turn",
    ending,
    recorded,
    tickets: ticketsOf(taken),
    ...(unwritten.length === 0 ? {} : { unwritten }),
    ...(endedBy === undefined ? {} : { endedBy }),
  });
}

/** Deadlines that only run during a turn. */
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
 * The prompts that the child has taken and its transcript does not hold, though the turn is over: on a busy machine it may
 * write them seconds after it is idle. A command may leave no line, which only matters where it was stopped: then nothing
 * else tells that it was taken.
 */
function unwrittenMessages(
  { hasPromptLine, taken, unwritten }: SessionState,
  { kind }: Ending,
): readonly Prompt[] {
  return hasPromptLine
    ? []
    : taken.filter((prompt) =>
      unwritten.includes(prompt) && (prompt.command === undefined || kind === "aborted")
    );
}

/**
 * Ends the turn that settles, or that an answer of the caller's has stopped, and begins the next one, which is known to
 * have begun. The run ends instead where the turn was the last and `claude -p` would not go on after it.
 *
 * @param options.woken whether the next turn is that of a wake-up
 * @param options.noticed whether it is that of the end of a task
 * @param options.isPrompted whether the hook of its prompt was received
 * @returns false if there is no such turn: then nothing is done
 */
export function beginNextTurn(
  step: ControlStep,
  { woken = false, noticed = false, isPrompted = false }: {
    readonly woken?: boolean;
    readonly noticed?: boolean;
    readonly isPrompted?: boolean;
  } = {},
): boolean {
  const ending = followedEnding(step.state, { isPrompted });
  if (ending === undefined) return false;
  const followed = ending.kind === "aborted" || mayBeFollowed(ending);
  endTurn(step, ending, { recorded: false, followed });
  step.update({ isWakeup: woken, isTaskNotice: noticed });
  beginTurn(step);
  return true;
}

/**
 * How a turn has ended after which the child goes on by itself. The end of one that Escape stops is told by its lines, or by
 * the hook of the next prompt if the hook of its own prompt has been received.
 */
function followedEnding(
  state: SessionState,
  { isPrompted }: { readonly isPrompted: boolean },
): Ending | undefined {
  const { phase, escapes, isPromptKnown, hasBackgroundTasks } = state;
  if (phase === "aborting") {
    const isStopped = escapes === 0
      ? isPromptRecorded(state)
      : isPrompted && isPromptKnown && !hasBackgroundTasks;
    return isStopped ? { kind: "aborted" } : undefined;
  }
  return phase === "settling" ? settledEnding(state) : undefined;
}

/** Whether there is nothing left to do after a turn but to wait for a wake-up, as `claude -p` does. */
function isFollowedByWakeup(state: SessionState, ending: Ending): boolean {
  return isLast(state) && mayBeFollowed(ending) && isToBeWoken(state);
}

/** Whether `claude -p` goes on after such a turn with the end of a task, or with a wake-up. */
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
    (ending.kind === "answered" && state.childQueue.runningTasks.size > 0 && !state.hasEndLine);
}

/**
 * Ends a turn whose end a hook has announced, if the child is idle and the transcript holds the turn; where another
 * message may follow, if the child has also reported the cost.
 *
 * Claude Code writes lines 0.1 s late. A SIGTERM before that can lose the prompt and the answer: 1 of 6 runs with 2.1.280
 * and with 2.1.305.
 *
 * @returns whether the turn has ended
 */
export function endRecordedTurn(step: ControlStep): boolean {
  const { phase, status } = step.state;
  if (phase !== "settling" || status?.status !== "idle" || isStale(step.state, status)) {
    return false;
  }
  const ending = settledEnding(step.state);
  if (ending === undefined || awaitsNext(step.state, ending)) return false;
  if (!isOnRecord(step.state)) return endAtOnce(step);
  if (isAwaitingCost(step.state)) return false;
  endTurn(step, ending);
  return true;
}

/** Whether the child has yet to report the turn's cost, and what is left of limits. */
export function isAwaitingCost(state: SessionState): boolean {
  return !state.isCostSettled && mustKnowCost(state);
}

function mustKnowCost(state: SessionState): boolean {
  const { conversation, asksStatus } = state.options;
  const ending = settledEnding(state);
  return asksStatus === true || (conversation === true && !isLast(state)) ||
    (ending !== undefined && isFollowedByWakeup(state, ending));
}

/**
 * Whether an idle status is older than the end of the turn: on a busy machine the status of the start stands in its file
 * until after the Stop hook of a short turn.
 */
export function isStale(
  { announcedAt }: SessionState,
  { status, updatedAt }: ChildStatus,
): boolean {
  return status === "idle" && announcedAt !== undefined && updatedAt !== undefined &&
    updatedAt < announcedAt;
}

/** Goes on after the turn's cost was reported, or was waited for long enough: the child may take what is in its queue. */
export function settleCost(step: ControlStep): void {
  const { stopHook, phase } = step.state;
  step.update({ stopHook: undefined, isCostSettled: true });
  if (stopHook !== undefined) step.emit(stopHook);
  if (phase === "settling" && endAtOnce(step)) return;
  endRecordedTurn(step);
}

/**
 * Ends a run whose last turn's end a hook has announced, if nothing can change that end any more. Elsewhere the child has
 * to be idle first, and the transcript to hold the turn.
 *
 * The child writes its delayed lines when it is told to go, 0.1 s of them, but does not wait for that: on two cores with
 * work for twenty, a SIGTERM at Stop took the answer from the transcript of 2.1.330 in 7 of 1,500 runs. So its SessionEnd
 * hook waits until they are there. Where a task in the background may have ended, the lines that tell of it come first.
 *
 * @returns whether the run has ended
 */
export function endAtOnce(step: ControlStep): boolean {
  const ending = lastAnnounced(step.state);
  const mayEnd = ending !== undefined && hasEndedStop(step.state) &&
    (step.state.isTaskless || isOnRecord(step.state)) && !isAwaitingCost(step.state);
  if (mayEnd) endSession(step, ending);
  return mayEnd;
}

/**
 * Stops the child. A turn whose end a hook has announced keeps that end; what stops the child is then the end of the turn of
 * a message that the child was given before.
 */
export function stopChild(step: ControlStep, ending: Ending): void {
  const announced = announcedEnding(step.state);
  if (announced === undefined || step.state.sent.length === 0) {
    interruptChild(step, announced ?? ending);
    return;
  }
  endTurn(step, announced, { recorded: false, followed: true });
  interruptChild(step, ending);
}

/** The announced end of the last turn, if nothing is known that may follow it, and a hook keeps the child at its end. */
function lastAnnounced(state: SessionState): Ending | undefined {
  const ending = announcedEnding(state);
  const { keptAtEnd, output } = state.options;
  return keptAtEnd && output === undefined && ending?.kind === "answered" && isLast(state) &&
      !awaitsNext(state, ending) && !mayBeWoken(state)
    ? ending
    : undefined;
}

/**
 * Whether the Stop hook is over. In most conversations it waits for an answer: when it gets one it has not ended yet, and
 * Claude Code would record that it failed. A child that has been idle since has seen its end.
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
export function askTasks(step: ControlStep): void {
  if (!isOnRecord(step.state) && lastAnnounced(step.state) !== undefined) {
    step.emit({ type: "list-shells" });
  }
}

/** Records that nothing was started in the background: no line that is still to be read can make the child go on. */
export function onTaskless(step: ControlStep): void {
  if (step.state.phase !== "settling") return;
  step.update({ isTaskless: true });
  endAtOnce(step);
}

/**
 * Ends a turn that no hook ends, if the child is idle and the transcript says why: a command has been carried out, or the
 * prompt was blocked. The turn of a command may have to wait for its cost first.
 *
 * @returns whether it is such a turn
 */
export function endCarriedOutTurn(step: ControlStep): boolean {
  const { phase, blocked, isCarriedOut, status, sent, taken } = step.state;
  if (status?.status !== "idle") return false;
  // A child that is busy only as long as its hooks take may never have been seen to be busy.
  const isUnderWay = isSubmitted(step.state) && phase !== "settling" && phase !== "aborting";
  if (blocked !== undefined && isUnderWay) {
    const first = taken.length > 0 ? 0 : 1;
    step.update({ taken: [...taken, ...sent.slice(0, first)], sent: sent.slice(first) });
    endTurn(step, { kind: "blocked", text: blocked });
    return true;
  }
  if (!isCarriedOut || phase !== "working") return false;
  settleCarriedOutTurn(step);
  return true;
}

/** Takes the output of a command for a Stop hook. */
function settleCarriedOutTurn(step: ControlStep): void {
  const deadlines = settlingDeadlines(step.state);
  // A child that is not asked does not report the cost.
  const asksCost = mustKnowCost(step.state) && canAskCost(step.state);
  takeFirst(step);
  changePhase(step, { phase: "settling" });
  step.update({ stop: {}, hasEndLine: true, isCostSettled: !asksCost });
  if (endRecordedTurn(step)) return;
  step.emit(...deadlines);
  if (asksCost) askCost(step);
}

/**
 * Ends a turn of a child whose hooks are turned off, if it is not busy and the transcript says that the turn is over. A
 * failed request may put a menu on the screen, as a rate limit does.
 *
 * @returns whether the turn has ended
 */
export function endHooklessTurn(step: ControlStep): boolean {
  const { options, phase, isComplete, status } = step.state;
  const isOver = options.hookless === true && phase === "working" && isComplete &&
    status !== undefined && status.status !== "busy" && !isFollowed(step.state);
  if (isOver) endTurn(step, { kind: "answered", stop: {} });
  return isOver;
}

/** Ends a turn whose idle child and last lines have been waited for long enough. */
export function endInAnyCase(step: ControlStep): void {
  const { phase } = step.state;
  const ending = phase === "settling" ? settledEnding(step.state) : undefined;
  if (ending === undefined) return;
  step.emit({ type: "trace", text: "not idle and on record in time" });
  forgetNotices(step);
  endTurn(step, ending);
}

/**
 * Whether the transcript holds the prompt, the structured answer, and the text that the hook announced. A hook that stops
 * a turn at its limit announces no text, and runs before the results of tools are written, or even their calls: there the
 * line at the end of the turn tells that all is written.
 */
function isOnRecord(state: SessionState): boolean {
  const {
    hasPromptLine,
    isComplete,
    hasEndLine,
    limited,
    isAtLimit,
    isCarriedOut,
    stop,
    failure,
    answer,
  } = state;
  if (!hasPromptLine || !isOutputWritten(state)) return false;
  const isAwaitingEnd = isAtLimit || limited !== undefined || mayBeWoken(state) ||
    isAwaitingStopHooks(state);
  if (isAwaitingEnd && !hasEndLine) return false;
  // The output of a command is no answer.
  if (isCarriedOut) return true;
  const message = (stop ?? failure)?.["last_assistant_message"];
  if (isComplete || typeof message !== "string" || message.trim() === "") return true;
  return announces(message, answer);
}

/**
 * Whether the output of other Stop hooks is still to be printed before the result: the child writes it once all of them
 * are over, and then the end of the turn. Before the result of the last turn is printed, all lines are read anyway.
 */
function isAwaitingStopHooks(state: SessionState): boolean {
  return state.options.conversation === true && state.stop !== undefined && !state.isCarriedOut &&
    hasOtherStopHooks(state);
}
