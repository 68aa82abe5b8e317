import { abortIfStopped, isTaken, onStoppable, untilLost } from "./stop_turn.ts";
import type { Effect } from "./effect.ts";
import { ENTER } from "../terminal/paste.ts";
import type { OpenSession, SessionState } from "./session_state.ts";
import { lookWhenQuiet } from "./wait_times.ts";
import { act, andThen, deadline, stay, type Step } from "./step.ts";
import { takeFirst } from "./taken_prompts.ts";

/** Time after which Enter is pressed again when UserPromptSubmit has not come; an Enter too many is harmless. */
const ENTER_AGAIN_MS = 600;

/** How long a paste may stay unseen before the screen is looked at. */
const ECHO_MS = 3000;

/** The child can take a prompt: what is awaited now is that it does. */
export function ready(state: SessionState): Step {
  return act({ ...state, ready: true }, [deadline("start"), ...extendDelivery(state)]);
}

/** A dialog that is on its way out gives the rest of the start its whole time again. */
export function extendStart(state: SessionState): readonly Effect[] {
  return isWaiting(state) && !state.ready
    ? [deadline("start", state.options.startTimeoutMs)]
    : extendDelivery(state);
}

function extendDelivery(state: SessionState): readonly Effect[] {
  return isWaiting(state) && state.queue.length + state.sent.length > 0
    ? [deadline("delivery", state.options.deliveryTimeoutMs)]
    : [];
}

/** Whether the turn has not begun yet. */
function isWaiting({ phase }: SessionState): boolean {
  return phase === "starting" || phase === "pasted" || phase === "entered";
}

/** Whether a prompt can have reached the child: a Stop before that is not this turn's. */
export function isSubmitted(state: SessionState): boolean {
  const { phase, sent } = state;
  return phase === "entered" || phase === "working" || phase === "settling" ||
    phase === "aborting" || wakesItself(state) ||
    sent.some(({ way }) => way === "stdin");
}

/** Whether a turn that begins now is that of a prompt which has waited for its time: nobody has handed one over. */
function wakesItself({ phase, wakeup, woken, noticed }: SessionState): boolean {
  return phase === "resting" && !noticed && (wakeup !== undefined || woken);
}

/** A paste is looked for in what the terminal shows, and now and then on the whole screen. */
export function awaitEcho(state: SessionState): Step {
  return act(state, [deadline("echo", ECHO_MS)]);
}

/** The text stands in the input box: it goes off. */
export function enter(state: OpenSession): Step {
  const entered = act({ ...state, phase: "entered", entersAgain: false }, [
    { type: "write", bytes: ENTER },
    deadline("echo"),
    deadline("enter", ENTER_AGAIN_MS),
    ...extendDelivery(state),
    { type: "trace", text: "Enter pressed" },
  ]);
  return andThen(entered, abortIfStopped);
}

/** Enter may be pressed once more, unless the screen shows that it would answer something. */
export function enterAgainUnlessAsked(state: SessionState): Step {
  if (state.phase !== "entered") return stay(state);
  return act({ ...state, entersAgain: true }, [{ type: "look" }]);
}

/**
 * What a screen leads to that was looked at because Enter was not enough: if it asks nothing, Enter once more, because the
 * first may have come before the input box took keys.
 */
export function afterLook({ state, effects }: Step, { asks }: { readonly asks: boolean }): Step {
  if (state.phase !== "entered" || !state.entersAgain) return { state, effects };
  return act({ ...state, entersAgain: false }, [
    ...effects,
    ...(asks ? [] : [
      { type: "write", bytes: ENTER } as const,
      { type: "trace", text: "Enter pressed again" } as const,
    ]),
    deadline("enter", ENTER_AGAIN_MS),
  ]);
}

/** The turn is under way; from `settling` too, when another Stop hook made the assistant go on. */
export function began(state: SessionState): Step {
  if (state.phase === "working" || state.ending !== undefined) return stay(state);
  if (state.phase === "aborting") {
    return isTaken(state) ? stay(state) : onStoppable(takeFirst(state));
  }
  const { wakeup, options } = state;
  const isWoken = wakesItself(state);
  const isOwn = isWoken || (state.phase === "resting" && state.noticed);
  const next: SessionState = {
    ...takeFirst<OpenSession>(state),
    wakeup: wakeup && { at: wakeup.at },
    woken: state.woken || isWoken,
    phase: "working",
    ready: true,
    completed: false,
    waits: false,
    childQueue: { ...state.childQueue, leftAt: undefined },
    priced: false,
    stop: undefined,
    failure: undefined,
    limited: undefined,
  };
  return act(next, [
    deadline("start"),
    deadline("delivery"),
    // The line that tells of the turn may be read after a dialog that stands in it.
    state.status?.status === "waiting" ? lookWhenQuiet() : deadline("look"),
    deadline("echo"),
    deadline("enter"),
    deadline("rendezvous"),
    untilLost(next),
    deadline("drain"),
    deadline("cost"),
    ...(isOwn ? [deadline("background")] : []),
    // Nobody has handed over a message with which the time of the turn would have begun.
    ...(isOwn && options.conversation && !state.isBounded
      ? [deadline("timeout", options.timeoutMs)]
      : []),
  ]);
}
