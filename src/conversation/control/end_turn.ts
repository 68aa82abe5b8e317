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
 * Ends a turn that the child outlives. If it was the last turn, ends the run, too.
 *
 * @param options.recorded whether the transcript holds the turn by now, or nothing waits for its lines
 * @param options.followed whether the child has continued without a message
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
  // If lines of the turn are missing, another turn has followed. The prompt of that turn comes before further messages.
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
    // A command that is stopped during the hooks of its prompt has no line, so nothing waits for a command's line.
    unwritten: step.state.unwritten.filter((prompt) =>
      prompt.command === undefined || !taken.includes(prompt)
    ),
    awaitsEarlierLines: !recorded || unwritten.some(({ command }) => command === undefined),
    // The turn in between may have been that of a task's end. The child may apply an unread Escape to a later message.
    mayHaveStaleEscape: isNext
      ? escapes > 0 || step.state.mayHaveStaleEscape
      : escapes > 0 && !step.state.hasDrawn,
  });
  changePhase(step, isNext ? { phase: "entered", entersAgain: false } : { phase: "resting" });
  step.emit({ type: "trace", text: `turn over: ${ending.kind}` });
  // The child waits until its Stop hook is answered.
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
 * The prompts that the child has taken but that the transcript does not hold at the end of the turn. On a busy machine,
 * the child may write them seconds after it is idle. A command may have no line. This matters only for a stopped
 * command: then no other input shows that the child has taken it.
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
 * Ends a turn that is settling, or that an answer of the caller has stopped, and begins the next turn, which is known
 * to have begun. If the turn was the last one and `claude -p` would not continue after it, ends the run instead.
 *
 * @param options.woken whether the next turn is that of a wake-up
 * @param options.noticed whether the next turn is that of a task's end
 * @param options.isPrompted whether the hook of the next turn's prompt was received
 * @returns false if there is no turn to end; then nothing is done
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
 * How a turn has ended after which the child continues without a message. If Escape stopped the turn, its lines show
 * the end. If the hook of its prompt was received, the hook of the next prompt also shows it.
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

/** Whether a turn leaves nothing to do but to wait for a wake-up, as `claude -p` does. */
function isFollowedByWakeup(state: SessionState, ending: Ending): boolean {
  return isLast(state) && mayBeFollowed(ending) && isToBeWoken(state);
}

/**
 * Whether `claude -p` starts a further turn after a turn that ended in this way, because a task has ended or a wake-up
 * is due.
 */
function mayBeFollowed({ kind }: Ending): boolean {
  return kind === "answered" || kind === "failed" || kind === "max-turns";
}

/**
 * Whether a task's end or a wake-up may follow the last turn. If a task has ended by now, the transcript holds its end
 * no later than the end of the turn.
 */
function awaitsNext(state: SessionState, ending: Ending): boolean {
  if (!isLast(state) || !mayBeFollowed(ending)) return false;
  return isFollowed(state) ||
    (ending.kind === "answered" && state.childQueue.runningTasks.size > 0 && !state.hasEndLine);
}

/**
 * Ends a turn whose end a hook has announced, if the child is idle and the transcript holds the turn. If another
 * message may follow, the child must also have reported the cost.
 *
 * Claude Code writes lines 0.1 s late. An earlier SIGTERM can lose the prompt and the answer: in 1 of 6 runs with
 * 2.1.280 and with 2.1.305.
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

/** Whether the child has not reported the turn's cost and the limits yet. */
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
 * Whether an idle status is older than the end of the turn. On a busy machine, the status file holds the initial status
 * until after the Stop hook of a short turn.
 */
export function isStale(
  { announcedAt }: SessionState,
  { status, updatedAt }: ChildStatus,
): boolean {
  return status === "idle" && announcedAt !== undefined && updatedAt !== undefined &&
    updatedAt < announcedAt;
}

/**
 * Continues after the turn's cost was reported or its wait has expired: the child may take the messages in its queue.
 */
export function settleCost(step: ControlStep): void {
  const { stopHook, phase } = step.state;
  step.update({ stopHook: undefined, isCostSettled: true });
  if (stopHook !== undefined) step.emit(stopHook);
  if (phase === "settling" && endAtOnce(step)) return;
  endRecordedTurn(step);
}

/**
 * Ends a run whose last turn's end a hook has announced, if no later input can change that end. Otherwise the child has
 * to be idle first, and the transcript has to hold the turn.
 *
 * A child that has to exit writes its delayed lines (0.1 s), but does not wait until they are written. On two cores
 * with work for twenty, a SIGTERM at Stop removed the answer from the transcript of 2.1.330 in 7 of 1,500 runs. So the
 * SessionEnd hook waits until the lines are there. If a background task may have ended, the lines about its end come
 * first.
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
 * Stops the child. A turn whose end a hook has announced keeps that end. The cause of the stop is then the end of the
 * turn of a message that the child had received.
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

/** The announced end of the last turn, if no known fact can follow it, and a hook delays the child's exit. */
function lastAnnounced(state: SessionState): Ending | undefined {
  const ending = announcedEnding(state);
  const { keptAtEnd, output } = state.options;
  return keptAtEnd && output === undefined && ending?.kind === "answered" && isLast(state) &&
      !awaitsNext(state, ending) && !mayBeWoken(state)
    ? ending
    : undefined;
}

/**
 * Whether the Stop hook has ended. In most conversations, the hook waits for an answer. It has not ended when it gets
 * the answer; if the child exited then, Claude Code would record that the hook failed. An idle status after the hook
 * shows that it has ended.
 */
function hasEndedStop(state: SessionState): boolean {
  const { isStopAsking, announcedAt, status } = state;
  return !isStopAsking ||
    (announcedAt !== undefined && status?.status === "idle" && !isStale(state, status));
}

/**
 * Asks whether the session has started tasks that may run in the background. A folder shows this immediately, the
 * transcript 0.1 s later.
 */
export function askTasks(step: ControlStep): void {
  if (!isOnRecord(step.state) && lastAnnounced(step.state) !== undefined) {
    step.emit({ type: "list-shells" });
  }
}

/** Records that no task was started in the background, so no unread line can make the child continue. */
export function onTaskless(step: ControlStep): void {
  if (step.state.phase !== "settling") return;
  step.update({ isTaskless: true });
  endAtOnce(step);
}

/**
 * Ends a turn that no hook ends, if the child is idle and the transcript shows the reason: a command was carried out,
 * or the prompt was blocked. The turn of a command may have to wait for its cost first.
 *
 * @returns whether it is such a turn
 */
export function endCarriedOutTurn(step: ControlStep): boolean {
  const { phase, blocked, isCarriedOut, status, sent, taken } = step.state;
  if (status?.status !== "idle") return false;
  // A child that is busy only while its hooks run may never have been seen busy.
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

/** Treats the output of a command like a Stop hook. */
function settleCarriedOutTurn(step: ControlStep): void {
  const deadlines = settlingDeadlines(step.state);
  // A child that is not asked for the cost does not report it.
  const asksCost = mustKnowCost(step.state) && canAskCost(step.state);
  takeFirst(step);
  changePhase(step, { phase: "settling" });
  step.update({ stop: {}, hasEndLine: true, isCostSettled: !asksCost });
  if (endRecordedTurn(step)) return;
  step.emit(...deadlines);
  if (asksCost) askCost(step);
}

/**
 * Ends a turn of a child whose hooks are turned off, if the child is not busy and the transcript shows that the turn
 * has ended. A failed request may put a menu on the screen, for example after a rate limit.
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

/** Ends a turn whose wait for the idle child and the last lines has expired. */
export function endInAnyCase(step: ControlStep): void {
  const { phase } = step.state;
  const ending = phase === "settling" ? settledEnding(step.state) : undefined;
  if (ending === undefined) return;
  step.emit({ type: "trace", text: "not idle and on record in time" });
  forgetNotices(step);
  endTurn(step, ending);
}

/**
 * Whether the transcript holds the prompt, the structured answer, and the text that the hook announced. A hook that
 * stops a turn at its limit announces no text, and runs before Claude Code writes the results of tools, or even their
 * calls. For such a turn, the line at its end shows that all lines are written.
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
 * Whether output of other Stop hooks must be printed before the result. The child writes this output once all Stop
 * hooks have ended, and then the end of the turn. Before the result of the last turn is printed, all lines are read
 * anyway.
 */
function isAwaitingStopHooks(state: SessionState): boolean {
  return state.options.conversation === true && state.stop !== undefined && !state.isCarriedOut &&
    hasOtherStopHooks(state);
}
