import type { Frame } from "../../claude/wire/frame.ts";
import type { ConversationEffect, ConversationState } from "./conversation.ts";
import type { Told } from "./telling/frames_state.ts";

/** A state and what is to be done because of it. */
export interface ConversationStep {
  readonly state: ConversationState;
  readonly effects: readonly ConversationEffect[];
}

/** What comes of a further step, behind what has come of one before. */
export function andThen(
  { state, effects }: ConversationStep,
  next: (state: ConversationState) => ConversationStep,
): ConversationStep {
  const step = next(state);
  return { state: step.state, effects: [...effects, ...step.effects] };
}

/** Prints what the machine of frames has said. */
export function say(state: ConversationState, said: Told): ConversationStep {
  return { state: { ...state, frames: said.state }, effects: said.frames.map(asEffect) };
}

/** Frames, what became of the turns whose ends are among them, and what is to be done about shells. */
export function withReports(state: ConversationState, frames: readonly Frame[]): ConversationStep {
  const { reports, shellOrders } = state.frames;
  const isQuiet = reports.length + shellOrders.length === 0;
  // So it is with most inputs.
  if (isQuiet && frames.length === 0) return { state, effects: [] };
  return {
    state: isQuiet
      ? state
      : { ...state, frames: { ...state.frames, reports: [], shellOrders: [] } },
    effects: [
      ...frames.map(asEffect),
      ...reports.map((report) => ({ type: "report", report } as const)),
      ...shellOrders,
    ],
  };
}

/** The frames that an effect prints. */
export function framesOf(effect: ConversationEffect): readonly Frame[] {
  return effect.type === "frame" ? [effect.frame] : effect.type === "end" ? effect.frames : [];
}

/** Prints a frame. */
export function asEffect(frame: Frame): ConversationEffect {
  return { type: "frame", frame };
}
