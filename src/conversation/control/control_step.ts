import type { Effect } from "./effect.ts";
import type { Phase, SessionState } from "./session_state.ts";
import type { Step } from "../step.ts";

/** A step of the control: the session's state, and effects for the child and the caller. */
export type ControlStep = Step<SessionState, Effect>;

/** Changes the phase, and the fields of the phase. A phase before the end of the session clears the ending. */
export function changePhase(step: ControlStep, phase: Phase): void {
  step.update({ ending: undefined, ...phase });
}
