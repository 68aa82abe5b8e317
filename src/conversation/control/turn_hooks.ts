import { boundLostPrompt, isPromptRecorded, pressEscapeOnceStoppable } from "./stop_turn.ts";
import { isFirstStop, onBackgroundStop, withWoken } from "./background_turns.ts";
import { backgroundTasksOf } from "./background_wait.ts";
import { beginTurn, isSubmitted, markReady } from "./begin_turn.ts";
import { changePhase, type ControlStep } from "./control_step.ts";
import { deadline, type Ending } from "./effect.ts";
import { endSession, settledEnding } from "./end_session.ts";
import { deliverNext } from "./deliver.ts";
import { type Input, isTurnFailure } from "./input.ts";
import { isTextOf } from "./message.ts";
import type { SessionState } from "./session_state.ts";
import { currentPrompt, isSent, takeFirst, takeSent } from "./taken_prompts.ts";
import { isNotification } from "../../claude/transcript/task_notification.ts";
import { askTasks, beginNextTurn, endAtOnce, endTurn, isAwaitingCost } from "./end_turn.ts";
import { askCost, settlingDeadlines } from "./wait_times.ts";
import { mayBeWoken } from "./follow_ups.ts";

/** A hook of the turn. It has no id if it waits for no answer. */
interface TurnHook
  extends Pick<Extract<Input, { readonly type: "hook" }>, "event" | "payload" | "id" | "ranAt"> {
  /** The limit that forbids a further request after the tools of this hook. */
  readonly limited?: SessionState["limited"];
}

/** Receives a hook that shows that the turn is running or has ended. */
export function onTurnHook(step: ControlStep, hook: TurnHook): void {
  const { phase, ending } = step.state;
  const { event, payload, limited } = hook;
  if (phase === "interrupting") {
    // The turn ended before Escape arrived, or because of it.
    if (event === "Stop" || isTurnFailure(event, payload)) endSession(step, ending);
    return;
  }
  if (phase === "ending" || ending !== undefined) return;
  // The model's text may be displayed after its turn.
  if (limited === undefined && event === "MessageDisplay") return;
  // This Stop is the first hook of a wake-up's turn.
  if (event === "Stop" && phase === "resting" && isSubmitted(step.state)) beginTurn(step);
  step.emit({ type: "trace", text: `hook ${event}` });
  if (limited !== undefined) {
    // No Stop hook follows (2.1.330).
    settleTurn(step, { limited, isCostSettled: limited === "budget" });
    return;
  }
  switch (event) {
    case "Stop":
      onStop(step, hook);
      return;
    case "StopFailure":
      if (isTurnFailure(event, payload)) {
        settleTurn(step, { failure: payload, isCostSettled: false });
      }
      return;
    case "UserPromptSubmit":
      onPrompt(step, hook);
      return;
    default: {
      // A background subagent continues after the turn that started it, even while the next prompt is awaited.
      const isOver = phase === "settling" || phase === "resting" || phase === "entered";
      if (isOver && payload["agent_id"] !== undefined) return;
      // Any other hook of the turn proves that the turn is running. SessionStart comes before the turn.
      if (event === "SessionStart") onSessionStart(step);
      else beginTurn(step);
    }
  }
}

/** Waits for the child to be idle after the end of a turn that another hook than Stop announced. */
function settleTurn(
  step: ControlStep,
  end: Pick<SessionState, "limited" | "failure" | "isCostSettled">,
): void {
  const deadlines = settlingDeadlines(step.state);
  takeFirst(step);
  changePhase(step, { phase: "settling" });
  // A Stop hook that another hook has blocked before is no longer an end.
  step.update({ stop: undefined, ...end });
  step.emit(...deadlines);
}

/** Receives a Stop hook: the turn has ended, unless background tasks continue. */
function onStop(step: ControlStep, { payload, id }: TurnHook): void {
  if (!isSubmitted(step.state)) return;
  const stop = withWoken(step.state, payload);
  if (backgroundTasksOf(stop).length > 0) {
    onBackgroundStop(step, stop);
    return;
  }
  takeFirst(step);
  changePhase(step, { phase: "settling" });
  const { awaitsPromptLine, hasEndLine } = step.state;
  const late = step.state.awaitsEarlierLines || (awaitsPromptLine && isFirstStop(payload));
  step.update({
    stop: payload,
    isStopAsking: id !== undefined,
    hasBackgroundTasks: false,
    isCostSettled: false,
    awaitsEarlierLines: late,
    // If lines are late, the end line that was read belongs to an earlier turn, so it does not count.
    hasEndLine: hasEndLine && !late,
  });
  if (endAtOnce(step)) return;
  step.emit(...settlingDeadlines(step.state));
  if (isAwaitingCost(step.state)) askCost(step);
  askTasks(step);
}

/** Receives a SessionStart hook. A message that needs no child may have waited for it. */
function onSessionStart(step: ControlStep): void {
  step.update({ hasSessionStarted: true });
  markReady(step);
  const { phase, options, queue: [next] } = step.state;
  // A message waits until the child's status is idle. Without a status file only this deadline ends that wait.
  if (options.conversation === true && phase === "starting") {
    step.emit(deadline("start", options.startTimeoutMs));
  }
  if (phase !== "resting" || next === undefined || next.way !== undefined) return;
  step.emit(deadline("servers"));
  deliverNext(step);
}

/** Receives a UserPromptSubmit hook: of a delivered prompt, of a task's end, or of a wake-up. */
function onPrompt(step: ControlStep, hook: TurnHook): void {
  const text = hook.payload["prompt"];
  if (!isSent(step.state, text)) {
    onUnsentPrompt(step, hook);
    return;
  }
  // The child continues with a prompt of its queue. A turn that settles has already taken its own prompts.
  const ending = endingBeforePrompt(step.state);
  if (ending !== undefined) {
    endTurn(step, ending, { recorded: step.state.hasEndLine });
  }
  takeSent(step, text);
  beginPromptedTurn(step);
}

/**
 * How the current turn has ended if the child takes a further prompt. A stopped command may have no hook of its own.
 */
function endingBeforePrompt(state: SessionState): Ending | undefined {
  const settled = settledEnding(state);
  if (settled !== undefined) return settled;
  const isStopped = state.phase === "aborting" && state.isPromptKnown &&
    (state.escapes > 0 || isPromptRecorded(state));
  return isStopped ? { kind: "aborted" } : undefined;
}

/**
 * Receives the hook of a prompt that the caller did not send, or of a message that the transcript has already shown as
 * taken.
 */
function onUnsentPrompt(step: ControlStep, hook: TurnHook): void {
  const text = hook.payload["prompt"];
  const noticed = isNotification(text);
  // A wake-up makes a turn of its own. If its time came before the end of the turn, its lines may be read later.
  const { wakeup } = step.state;
  const isDue = (wakeup !== undefined || mayBeWoken(step.state)) && !noticed;
  if ((isDue || noticed) && beginNextTurn(step, { woken: isDue, noticed, isPrompted: true })) {
    beginPromptedTurn(step);
    return;
  }
  const { isWakeup: wasWoken, isTaskNotice: wasNoticed, isPromptKnown } = step.state;
  const current = currentPrompt(step.state);
  // A line may have shown the wake-up before. A message that is sent at that time is not taken yet.
  const woken = isDue || (wasWoken && !noticed);
  const isForeign = !woken && !isPromptKnown && current !== undefined && typeof text === "string" &&
    !isTextOf(current, text) && !noticed;
  if (isForeign) {
    endSession(step, { kind: "undelivered", taken: text });
    return;
  }
  step.update({ isWakeup: woken, isTaskNotice: wasNoticed || noticed });
  beginPromptedTurn(step);
}

/** Begins the turn of a prompt whose hook was received. */
function beginPromptedTurn(step: ControlStep): void {
  step.update({
    isPromptKnown: true,
    hasBackgroundTasks: false,
    isOnlyBackground: false,
    isComplete: false,
  });
  beginTurn(step);
  pressEscapeOnceStoppable(step);
  step.emit(deadline("background"));
  boundLostPrompt(step);
  deliverNext(step);
}
