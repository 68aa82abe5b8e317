import type { Effect } from "./control/effect.ts";
import type { SessionState } from "./control/session_state.ts";
import type { Step as OldStep } from "./control/step.ts";
import { Step } from "./step.ts";

/** A step of the control. */
export type ControlStep = Step<SessionState, Effect>;

/** Runs a function of the old kind in a step of the control. */
export function runOldControl(
  step: ControlStep,
  old: (state: SessionState) => OldStep,
): void {
  const { state, effects } = old(step.state as SessionState);
  step.replace(state);
  step.emit(...effects);
}

/** Returns as a function of the old kind would what a step of the control does. */
export function asOldControl(state: SessionState, use: (step: ControlStep) => void): OldStep {
  const step: ControlStep = new Step<SessionState, Effect>(state);
  use(step);
  return { state: step.state as SessionState, effects: step.emitted };
}
