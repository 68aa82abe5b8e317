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

/**
 * Time after which Enter is pressed again if UserPromptSubmit has not come, in milliseconds. A surplus Enter is
 * harmless.
 */
const ENTER_AGAIN_MS = 600;

/** How long a pasted text may be missing from the terminal's output before the screen is rendered, in milliseconds. */
const ECHO_MS = 3000;

/** Records that the child can take a prompt, and limits the time until it does. */
export function markReady(step: ControlStep): void {
  step.update({ isReady: true });
  step.emit(deadline("start"));
  extendDelivery(step);
}

/** Restarts the time limit of the start, because a dialog is about to close. */
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

/** Whether a prompt may have reached the child. An earlier Stop hook does not belong to this turn. */
export function isSubmitted(state: SessionState): boolean {
  const { phase, sent } = state;
  return phase === "entered" || phase === "working" || phase === "settling" ||
    phase === "aborting" || wakesItself(state) ||
    sent.some(({ way }) => way === "stdin");
}

/** Whether a turn that begins now is the turn of a wake-up: the caller has sent no message for it. */
function wakesItself({ phase, wakeup, isWakeup, isTaskNotice }: SessionState): boolean {
  return phase === "resting" && !isTaskNotice && (wakeup !== undefined || isWakeup);
}

/** Requests a look at the screen if the terminal's output does not show a paste in time. */
export function awaitEcho(step: ControlStep): void {
  step.emit(deadline("echo", ECHO_MS));
}

/** Submits the text in the input box. */
export function pressEnter(step: ControlStep): void {
  step.emit({ type: "write", bytes: ENTER }, deadline("echo"), deadline("enter", ENTER_AGAIN_MS));
  extendDelivery(step);
  step.emit({ type: "trace", text: "Enter pressed" });
  changePhase(step, { phase: "entered", entersAgain: false });
  abortIfStopped(step);
}

/** Requests a look at the screen before Enter is pressed again, because Enter must not answer a question there. */
export function lookBeforeEnter(step: ControlStep): void {
  if (step.state.phase !== "entered") return;
  step.update({ entersAgain: true });
  step.emit({ type: "look" });
}

/**
 * After the look of `lookBeforeEnter`, presses Enter again if the screen asks nothing. The first Enter may have come
 * before the input box accepted keys.
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

/** Records that the turn is running. In phase `settling`, another Stop hook has continued the turn. */
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
    // The line that shows the turn may be read after a dialog of the turn has opened.
    status?.status === "waiting" ? lookDeadline() : deadline("look"),
    deadline("echo"),
    deadline("enter"),
    deadline("rendezvous"),
  );
  boundLostPrompt(step);
  step.emit(deadline("drain"), deadline("cost"));
  if (!isOwn) return;
  step.emit(deadline("background"));
  // The time limit of other turns starts when their message is delivered.
  if (options.conversation && !isBounded) step.emit(deadline("timeout", options.timeoutMs));
}
