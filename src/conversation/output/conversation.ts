import type { Effect as SessionEffect, Ending } from "../control/effect.ts";
import type { SessionOptions } from "../control/session_options.ts";
import type { SessionState } from "../control/session_state.ts";
import type { EntryOrigin } from "../../claude/transcript/entry_order.ts";
import type { Frame } from "../../claude/wire/frame.ts";
import type { Report, ReportOptions } from "./result/verdict.ts";
import type { OutputOptions } from "./output_options.ts";
import type { OutputState, OutputStep } from "./output_state.ts";
import { Step } from "../step.ts";

/** The options of the control, the output and the report. */
export interface ConversationOptions {
  readonly session: SessionOptions;
  readonly frames: OutputOptions;
  readonly report: ReportOptions;
}

/** The state of a conversation between two inputs. */
export interface ConversationState {
  readonly lines: EntryOrigin;
  readonly session: SessionState;
  readonly frames: OutputState;
  /** Frames of messages that are printed once `initialize` is answered. */
  readonly deferredFrames?: readonly Frame[];
  /** Whether it was emitted that only the child's exit is outstanding. */
  readonly isComplete?: true;
}

/** An effect of a conversation. */
export type ConversationEffect =
  | ControlEffect
  /** The report of a turn that the child outlived, after its last frame. */
  | { readonly type: "report"; readonly report: Report }
  | WholeEffect
  | EndEffect;

/**
 * Only the child's exit is outstanding. `effectsAtEnd()` returns the effects that the exit will have, so a caller need
 * not wait for it.
 */
export interface WholeEffect {
  readonly type: "whole";
  readonly state: ConversationState;
  readonly ending: Ending;
  /** When only the exit was outstanding, in milliseconds since the start. */
  readonly at: number;
}

/** The effects of the control that are passed on unchanged. The other effects of the control become frames. */
type ControlEffect = Exclude<
  SessionEffect,
  {
    readonly type:
      | "turn"
      | "respond"
      | "cancelled"
      | "stopped"
      | "model"
      | "mode"
      | "remark"
      | "commands"
      | "title"
      | "end";
  }
>;

/** The end, as the control decides it. */
export type SessionEnd = Extract<SessionEffect, { readonly type: "end" }>;

/** The end of the run: no effect follows. */
export interface EndEffect extends SessionEnd {
  /** The last frames. They are printed once nothing else draws on the terminal. */
  readonly frames: readonly Frame[];
  /** The report of the last turn, after the frames; absent where every turn has been reported. */
  readonly report?: Report;
}

/** An effect, or a part of the end. */
export type EffectPart = Exclude<ConversationEffect, EndEffect> | SessionEnd;

/** Returns the parts of an effect: an end consists of its frames, the report of the last turn, and the end itself. */
export function partsOf(effect: ConversationEffect): readonly EffectPart[] {
  if (effect.type !== "end") return [effect];
  const { frames, report, ...end } = effect;
  return [
    ...frames.map((frame) => ({ type: "frame", frame } as const)),
    ...(report === undefined ? [] : [{ type: "report", report } as const]),
    end,
  ];
}

/** One call of a conversation. */
export type ConversationStep = Step<ConversationState, ConversationEffect>;

/** Runs a step of the output, and prints the frames that it emits. */
export function changeOutput<Result>(
  step: ConversationStep,
  use: (output: OutputStep) => Result,
): Result {
  const output: OutputStep = new Step<OutputState, Frame>(
    step.state.frames,
    (state) => ({ ...state }),
  );
  const result = use(output);
  if (output.state !== step.state.frames) step.update({ frames: output.state });
  step.emitAll(output.emitted.map(asEffect));
  return result;
}

/** Emits the reports of turns whose results have been emitted, and the pending orders for shells. */
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
