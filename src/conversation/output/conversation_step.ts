import type { Frame } from "../../claude/wire/frame.ts";
import type { ConversationEffect, ConversationState } from "./conversation.ts";
import { Step } from "../step.ts";
import type { FramesState, OutputStep } from "./telling/frames_state.ts";

/** One call of a conversation. */
export type ConversationStep = Step<ConversationState, ConversationEffect>;

/** Runs a step of the output, and prints the frames that it emits. */
export function changeOutput<Result>(
  step: ConversationStep,
  use: (output: OutputStep) => Result,
): Result {
  const output: OutputStep = new Step<FramesState, Frame>(step.state.frames);
  const result = use(output);
  if (output.state !== step.state.frames) step.update({ frames: output.state });
  step.emit(...output.emitted.map(asEffect));
  return result;
}

/** Emits the reports of turns whose results have been emitted, and the orders that are given to shells. */
export function emitReports(step: ConversationStep): void {
  const { frames } = step.state;
  const { reports, shellOrders } = frames;
  if (reports.length + shellOrders.length === 0) return;
  step.update({ frames: { ...frames, reports: [], shellOrders: [] } });
  step.emit(
    ...reports.map((report) => ({ type: "report", report } as const)),
    ...shellOrders,
  );
}

/** Returns the frames that an effect prints. */
export function framesOf(effect: ConversationEffect): readonly Frame[] {
  return effect.type === "frame" ? [effect.frame] : effect.type === "end" ? effect.frames : [];
}

/** Returns the effect that prints a frame. */
export function asEffect(frame: Frame): ConversationEffect {
  return { type: "frame", frame };
}
