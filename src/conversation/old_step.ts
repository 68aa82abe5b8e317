import type { Effect } from "./control/effect.ts";
import type { SessionState } from "./control/session_state.ts";
import type { Step as OldStep } from "./control/step.ts";
import type { FramesState, Told } from "./output/telling/frames_state.ts";
import type { Frame } from "../claude/wire/frame.ts";
import { Step } from "./step.ts";

/** A step of the control. */
export type ControlStep = Step<SessionState, Effect>;

/** A step of the output. */
export type OutputStep = Step<FramesState, Frame>;

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

/** Runs a function of the old kind in a step of the output. */
export function runOldOutput(step: OutputStep, old: (state: FramesState) => Told): void {
  const { state, frames } = old(step.state);
  step.replace(state);
  step.emit(...frames);
}

/** Returns as a function of the old kind would what a step of the output does. */
export function asOldOutput(state: FramesState, use: (step: OutputStep) => void): Told {
  const step: OutputStep = new Step<FramesState, Frame>(state);
  use(step);
  return { state: step.state, frames: step.emitted };
}
