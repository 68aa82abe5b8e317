import type { ControlStep } from "./control_step.ts";
import type { Effect } from "./effect.ts";
import type { SessionState } from "./session_state.ts";
import { Step as NewStep } from "../step.ts";

export { deadline, write } from "./effect.ts";

/** A state and what is to be done because of it. */
export interface Step {
  readonly state: SessionState;
  readonly effects: readonly Effect[];
}

/** Runs a function of the old kind in a step. */
export function runOld(step: ControlStep, old: (state: SessionState) => Step): void {
  const { state, effects } = old(step.state as SessionState);
  step.replace(state);
  step.emit(...effects);
}

/** Returns as a function of the old kind would what is done in a step. */
export function asOld(state: SessionState, use: (step: ControlStep) => void): Step {
  const step: ControlStep = new NewStep<SessionState, Effect>(state);
  use(step);
  return { state: step.state as SessionState, effects: step.emitted };
}

/** A state and effects. */
export function act(state: SessionState, effects: readonly Effect[]): Step {
  return { state, effects };
}

/** A state and nothing to do. */
export function stay(state: SessionState): Step {
  return act(state, []);
}

/** What comes of a further step, behind what has come of one before. */
export function andThen(before: Step, next: (state: SessionState) => Step): Step {
  const { state, effects } = next(before.state);
  return act(state, [...before.effects, ...effects]);
}
