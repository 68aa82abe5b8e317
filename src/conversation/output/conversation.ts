import type { Effect as SessionEffect, Ending } from "../control/effect.ts";
import type { Input } from "../control/input.ts";
import type { SessionOptions } from "../control/session_options.ts";
import type { SessionState } from "../control/session_state.ts";
import type { OwnLines } from "../../claude/transcript/entry_order.ts";
import type { Frame } from "../../claude/wire/frame.ts";
import type { Report, ReportOptions } from "./result/verdict.ts";
import type { OutputOptions } from "./output_options.ts";
import type { OutputState, OutputStep } from "./output_state.ts";
import { Step } from "../step.ts";

/** What a conversation is told before it begins. */
export interface ConversationOptions {
  readonly session: SessionOptions;
  readonly frames: OutputOptions;
  readonly report: ReportOptions;
}

/** Everything that has to be remembered between two inputs. */
export interface ConversationState {
  readonly options: ConversationOptions;
  readonly lines: OwnLines;
  readonly session: SessionState;
  readonly frames: OutputState;
  /** Frames of messages that are printed once `initialize` is answered. */
  readonly deferredFrames?: readonly Frame[];
  /** When the child was told to go. */
  readonly endingAt?: number;
  /** Whether it was killed because it did not. */
  readonly isForced?: true;
  /** The child's end, as it was heard. */
  readonly exit?: Extract<Input, { readonly type: "exit" }>;
  /** How the last turn has ended, where the session takes what is written of it for whole. */
  readonly whole?: Ending | undefined;
}

/** Whatever a conversation does. */
export type ConversationEffect =
  | SessionDeed
  /** Print a frame, in the format that was asked for. */
  | { readonly type: "frame"; readonly frame: Frame }
  /** What became of a turn that the child outlived, after its last frame. */
  | { readonly type: "report"; readonly report: Report }
  | WholeEffect
  | EndEffect;

/**
 * Nothing is to come but the child's end, of which `effectsAtEnd()` returns what would be said: whoever waits for nothing else
 * need not wait for that.
 */
export interface WholeEffect {
  readonly type: "whole";
  readonly state: ConversationState;
  readonly ending: Ending;
  /** When that was, in milliseconds since the start. */
  readonly at: number;
}

/** What the session decides, but for what is to be said because of it. */
type SessionDeed = Exclude<
  SessionEffect,
  {
    readonly type:
      | "turn"
      | "respond"
      | "ask"
      | "withdraw"
      | "decided"
      | "cancelled"
      | "stopped"
      | "model"
      | "mode"
      | "remark"
      | "commands"
      | "title"
      | "whole"
      | "end";
  }
>;

/** The end, as the session decides it. */
export type SessionEnd = Extract<SessionEffect, { readonly type: "end" }>;

/** Nothing more will happen. */
export interface EndEffect extends SessionEnd {
  /** What is said last: it is printed once whoever looks on has gone. */
  readonly frames: readonly Frame[];
  /** What became of the last turn, after those; absent where all of them have been told. */
  readonly report?: Report;
}

/** An effect, or a part of the last one. */
export type EffectPart = Exclude<ConversationEffect, EndEffect> | SessionEnd;

/** An effect as what it consists of: an end is what is said at it, what became of the last turn, and then the end. */
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
  const output: OutputStep = new Step<OutputState, Frame>(step.state.frames);
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
