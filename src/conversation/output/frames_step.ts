import type { Effect } from "../control/effect.ts";
import { type FramesState, type Told, told } from "./telling/frames_state.ts";

/** What the machine waits for, or wants to know. */
export type FramesEffect = Extract<Effect, { readonly type: "deadline" | "list-shells" }>;

/** What is said because of an input, and what has to be waited for. */
export interface FramesStep extends Told {
  readonly effects: readonly FramesEffect[];
}

/** A state and nothing to say or to wait for. */
export function quiet(state: FramesState): FramesStep {
  return waitingFor(told(state), []);
}

/** What is said, and what has to be waited for behind that. */
export function waitingFor(
  { state, frames }: Told,
  effects: readonly FramesEffect[] = [],
): FramesStep {
  return { state, frames, effects };
}

/**
 * How long the lines of a subagent that is over may take to be read, which are written together with its result, and those
 * of one that begins. A turn's wait as long.
 */
export const SUBAGENT_DELAY = { type: "deadline", name: "subagent", afterMs: 1000 } as const;
