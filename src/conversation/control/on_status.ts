import { isAsking } from "../protocol/questions/deciding.ts";
import { awaitEcho, began, isSubmitted, ready } from "./begin_turn.ts";
import type { Effect } from "./effect.ts";
import { end, isToldOf } from "./end_session.ts";
import { handToChild } from "./deliver.ts";
import type { ChildStatus, SessionState } from "./session_state.ts";
import { act, deadline, stay, type Step } from "./step.ts";
import { isStale, overOnRecord, overWhenCarriedOut, overWithoutHooks } from "./end_turn.ts";
import { lookWhenQuiet, overWhenIdle, overWhenRecorded } from "./wait_times.ts";

/**
 * How long a stopped answer may take to get into the transcript once the child is idle, where the conversation goes on:
 * lines are held back for 0.1 s, and longer on a busy machine.
 */
const RECORDED_MS = 1500;
/** The same where there may be nothing to write down, and somebody waits for this program to stop. */
const HURRIED_MS = 300;

/** The child says whether it is idle, busy, or waits for somebody. */
export function onStatus(
  state: SessionState,
  told: ChildStatus & { readonly version?: string },
): Step {
  const { status, waitingFor, updatedAt, version = state.version } = told;
  const known = version === undefined ? state : { ...state, version };
  if (isStale(state, told)) return stay(known);
  const next: SessionState = {
    ...known,
    // A dialog that stands there later is another one, which may ask the same.
    ...(status === "busy" ? { dialogKeys: 0, screen: undefined } : {}),
    status: {
      status,
      ...(waitingFor === undefined ? {} : { waitingFor }),
      ...(updatedAt === undefined ? {} : { updatedAt }),
    },
  };
  // What there was of an answer gets into the transcript a moment after the child is idle.
  if (state.phase === "ending") return stay(next);
  if (state.phase === "interrupting") {
    const isHurried = status !== "busy" && !isToldOf(state.ending);
    return act(next, isHurried ? [deadline("interrupt", HURRIED_MS)] : []);
  }
  if (state.phase === "aborting") {
    return act(next, status === "busy" ? [] : [deadline("interrupt", RECORDED_MS)]);
  }
  const trace: Effect = {
    type: "trace",
    text: `status ${status}${waitingFor === undefined ? "" : ` (${waitingFor})`}`,
  };
  switch (status) {
    case "busy": {
      // While settling, busy is what the child still is: only idle, or another hook of the turn, decides.
      if (state.phase === "settling" || !isOnStdin(state)) {
        const taken = ready(next);
        return act(taken.state, [trace, ...taken.effects, deadline("idle")]);
      }
      const working = began(next);
      // A permission that a hook denied made the child wait for a moment: nothing to look at any more.
      return act(working.state, [trace, ...working.effects, deadline("idle"), deadline("look")]);
    }
    case "idle": {
      if (state.phase === "settling") {
        const over = overOnRecord(next);
        return over === undefined
          ? act(next, [trace, overWhenRecorded(next)])
          : act(over.state, [trace, ...over.effects]);
      }
      const over = overWhenCarriedOut(next) ?? overWithoutHooks(next);
      if (over !== undefined) return act(over.state, [trace, ...over.effects]);
      // The input box is there, so no start-up dialog is in the way.
      const usable = ready(next);
      const rests = usable.state.phase === "starting" && usable.state.sent.length === 0;
      const handed = handToChild(rests ? { ...usable.state, phase: "resting" } : usable.state);
      return act(handed.state, [
        trace,
        ...usable.effects,
        deadline("look"),
        // What is pasted may have been looked for while a dialog stood in front of it.
        ...(state.phase === "pasted" ? awaitEcho(state).effects : []),
        ...handed.effects,
        ...(isSubmitted(next) ? [overWhenIdle()] : []),
      ]);
    }
    case "waiting":
      // A failed request may put a menu on the screen, as a rate limit does: nobody has to choose any more.
      if (state.phase === "settling" && state.failure !== undefined) {
        return end(next, { kind: "failed", failure: state.failure });
      }
      return overWithoutHooks(next) ??
        act(next, [trace, deadline("idle"), ...(isAsking(next) ? [] : [lookWhenQuiet()])]);
    default:
      return act(next, [trace]);
  }
}

/**
 * Notes when the hook ran that has announced the end of a turn, and what the child said of itself before that was heard:
 * it may have been idle by then already.
 */
export function onAnnounced({ state, effects }: Step, ranAt: number): Step {
  const { status } = state;
  const next = { ...state, announcedAt: ranAt };
  if (status === undefined || status.status === "busy") return act(next, effects);
  const again = onStatus(next, status);
  return act(again.state, [...effects, ...again.effects]);
}

/** Whether the child finds its prompt on its stdin: then it is busy with that. */
function isOnStdin({ sent, taken }: SessionState): boolean {
  return [...sent, ...taken].some(({ way }) => way === "stdin");
}
