import { changePhase, type ControlStep } from "./control_step.ts";
import { deadline } from "./effect.ts";
import {
  abortIfStopped,
  boundLostPrompt,
  isPromptTaken,
  pressEscapeOnceStoppable,
} from "./stop_turn.ts";
import { takeFirst } from "./taken_prompts.ts";
import { ENTER } from "../terminal/paste.ts";
import type { SessionState } from "./session_state.ts";
import { lookDeadline } from "./wait_times.ts";

/** Time after which Enter is pressed again if UserPromptSubmit has not come; one Enter too many is harmless. */
const ENTER_AGAIN_MS = 600;

/** How long a paste may stay unseen before the screen is looked at. */
const ECHO_MS = 3000;

/** Records that the child can take a prompt, and bounds the time until it does. */
export function markReady(step: ControlStep): void {
  step.update({ isReady: true });
  step.emit(deadline("start"));
  extendDelivery(step);
}

/** Gives the rest of the start its whole time again, because a dialog is about to close. */
export function extendStart(step: ControlStep): void {
  const { isReady, options } = step.state;
  if (isBeforeTurn(step.state) && !isReady) step.emit(deadline("start", options.startTimeoutMs));
  else extendDelivery(step);
}

function extendDelivery(step: ControlStep): void {
  const { queue, sent, options } = step.state;
  if (isBeforeTurn(step.state) && queue.length + sent.length > 0) {
    step.emit(deadline("delivery", options.deliveryTimeoutMs));
  }
}

function isBeforeTurn({ phase }: SessionState): boolean {
  return phase === "starting" || phase === "pasted" || phase === "entered";
}

/** Whether a prompt can have reached the child: a Stop before that is not this turn's. */
export function isSubmitted(state: SessionState): boolean {
  const { phase, sent } = state;
  return phase === "entered" || phase === "working" || phase === "settling" ||
    phase === "aborting" || wakesItself(state) ||
    sent.some(({ way }) => way === "stdin");
}

/** Whether a turn that begins now is that of a wake-up: the caller has sent no message for it. */
function wakesItself({ phase, wakeup, isWakeup, isTaskNotice }: SessionState): boolean {
  return phase === "resting" && !isTaskNotice && (wakeup !== undefined || isWakeup);
}

/** Has the screen looked at if the terminal's output does not show a paste in time. */
export function awaitEcho(step: ControlStep): void {
  step.emit(deadline("echo", ECHO_MS));
}

/** Sends off the text that stands in the input box. */
export function pressEnter(step: ControlStep): void {
  step.emit({ type: "write", bytes: ENTER }, deadline("echo"), deadline("enter", ENTER_AGAIN_MS));
  extendDelivery(step);
  step.emit({ type: "trace", text: "Enter pressed" });
  changePhase(step, { phase: "entered", entersAgain: false });
  abortIfStopped(step);
}

/** Looks at the screen before Enter is pressed once more: Enter must not answer a question there. */
export function lookBeforeEnter(step: ControlStep): void {
  if (step.state.phase !== "entered") return;
  step.update({ entersAgain: true });
  step.emit({ type: "look" });
}

/**
 * Presses Enter once more after a look for `lookBeforeEnter`, if the screen asks nothing: the first Enter may have come
 * before the input box took keys.
 */
export function enterAfterLook(step: ControlStep, { asks }: { readonly asks: boolean }): void {
  const { state } = step;
  if (state.phase !== "entered" || !state.entersAgain) return;
  step.update({ entersAgain: false });
  if (!asks) {
    step.emit({ type: "write", bytes: ENTER }, { type: "trace", text: "Enter pressed again" });
  }
  step.emit(deadline("enter", ENTER_AGAIN_MS));
}

/** Records that the turn is under way; from `settling` too, when another Stop hook makes the assistant go on. */
export function beginTurn(step: ControlStep): void {
  const { phase, ending, isTaskNotice, wakeup } = step.state;
  if (phase === "working" || ending !== undefined) return;
  if (phase === "aborting") {
    if (isPromptTaken(step.state)) return;
    takeFirst(step);
    pressEscapeOnceStoppable(step);
    return;
  }
  const isWoken = wakesItself(step.state);
  takeFirst(step);
  changePhase(step, { phase: "working" });
  step.update({
    wakeup: wakeup && { at: wakeup.at },
    isWakeup: step.state.isWakeup || isWoken,
    isReady: true,
    isComplete: false,
    isOnlyBackground: false,
    childQueue: { ...step.state.childQueue, noticeTakenAt: undefined },
    isCostSettled: false,
    stop: undefined,
    failure: undefined,
    limited: undefined,
  });
  emitTurnDeadlines(step, { isOwn: isWoken || (phase === "resting" && isTaskNotice) });
}

/** @param options.isOwn whether the child has begun the turn without a message */
function emitTurnDeadlines(step: ControlStep, { isOwn }: { readonly isOwn: boolean }): void {
  const { options, status, isBounded } = step.state;
  step.emit(
    deadline("start"),
    deadline("delivery"),
    // The line that tells of the turn may be read after a dialog of the turn has opened.
    status?.status === "waiting" ? lookDeadline() : deadline("look"),
    deadline("echo"),
    deadline("enter"),
    deadline("rendezvous"),
  );
  boundLostPrompt(step);
  step.emit(deadline("drain"), deadline("cost"));
  if (!isOwn) return;
  step.emit(deadline("background"));
  // The time of other turns begins when their message is handed over.
  if (options.conversation && !isBounded) step.emit(deadline("timeout", options.timeoutMs));
}
