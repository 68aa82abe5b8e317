import type { Effect } from "./effect.ts";
import type { SessionState } from "./session_state.ts";

export { deadline, write } from "./effect.ts";

/** A state and what is to be done because of it. */
export interface Step {
  readonly state: SessionState;
  readonly effects: readonly Effect[];
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
