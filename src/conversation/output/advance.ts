import { useLearntFacts } from "../../claude/versions/profiles.ts";
import type { Effect as SessionEffect } from "../control/effect.ts";
import type { Input } from "../control/input.ts";
import { Step } from "../step.ts";
import { settledEnding } from "../control/end_session.ts";
import { receiveSessionInput } from "../control/session_machine.ts";
import { type SessionState, startSession } from "../control/session_state.ts";
import { isRepeated, NO_ORIGIN, trackOrigin } from "../../claude/transcript/entry_order.ts";
import { conclude, emitOutputComplete, isComplete, receiveTurnEnd } from "./end_conversation.ts";
import {
  asEffect,
  changeOutput,
  type ConversationEffect,
  type ConversationOptions,
  type ConversationState,
  type ConversationStep,
  emitReports,
  framesOf,
} from "./conversation.ts";
import { cancelMessage, isLifecycle } from "./messages.ts";
import { nextBeat, receiveInput, recordCopied } from "./receive_input.ts";
import { hasPendingLines, type OutputStep, startOutput } from "./output_state.ts";
import { withUsage } from "./turns/conversation_cost.ts";
import { isInitializing } from "../protocol/requests/initialize.ts";
import { addActivity } from "./activity.ts";
import { recordPermissions } from "./live/long_calls.ts";
import {
  emitHookFailure,
  emitMode,
  emitModel,
  emitReloadedCommands,
  emitStoppedTask,
  emitTitle,
  recordCommands,
} from "./session_changes.ts";

/** A conversation after an input, and the effects of the input. */
export interface Advanced {
  readonly state: ConversationState;
  readonly effects: readonly ConversationEffect[];
}

/** A conversation before its first input. */
export function startConversation(options: ConversationOptions): ConversationState {
  // A recording holds the measured facts of versions that have no shipped profile.
  for (const [version, facts] of Object.entries(options.frames.learnt ?? {})) {
    useLearntFacts(version, facts);
  }
  return {
    lines: NO_ORIGIN,
    session: startSession(options.session),
    frames: startOutput(options.frames, options.report),
  };
}

/**
 * Takes one input and returns its effects: the control decides what happens to the child, the output decides which
 * frames are printed. It reads no clock, file or environment, and makes no random number.
 */
export function advance(before: ConversationState, input: Input): Advanced {
  const step: ConversationStep = new Step<ConversationState, ConversationEffect>(
    before,
    (state) => ({ ...state }),
  );
  const emitted = step.capture(() => receive(step, input));
  const ordered = deferUntilInitialized(step, emitted);
  const effects = before.frames.options.activity
    ? addActivity(step, before.session, ordered)
    : ordered;
  return { state: step.state, effects };
}

/** Gives an input to the control and the output, and emits what follows. */
function receive(step: ConversationStep, input: Input): void {
  const { state } = step;
  const lines = trackOrigin(state.lines, input);
  if (lines === undefined) {
    // The line is new only if a hook or a tool has resumed the session with `claude -p`. The child does not know such
    // lines.
    if (input.type === "transcript" && isRepeated(state.lines, input.entry)) {
      changeOutput(step, (output) => recordCopied(output, input.entry));
    }
    return;
  }
  step.update({ lines });
  const deadlines = changeOutput(step, (output) => receiveInput(output, input));
  const effects = control(step, input);
  emitReports(step);
  step.emit(...deadlines);
  for (const effect of effects) carryOut(step, { effect, at: input.at });
  if (isComplete(step.state)) emitOutputComplete(step, input.at);
}

/** Gives an input to the control, and returns what it decides. */
function control(step: ConversationStep, input: Input): readonly SessionEffect[] {
  const { session: before, frames } = step.state;
  // Lines that are held back are read, and not emitted.
  const isEmitting = input.type === "read" || (input.type === "deadline" && input.name === "init");
  if (isEmitting && hasPendingLines(frames)) return [];
  // The child reports its own cost, and sometimes also the cost of the session before it.
  const known = input.type === "cost" ? { ...input, ...frames.cost } : input;
  const { state: session, effects } = receiveSessionInput(before, known);
  step.update({ session });
  shareFacts(step, before, input.at);
  return effects;
}

/** Passes new facts of the control to the output. */
function shareFacts(step: ConversationStep, before: SessionState, at: number): void {
  const { session } = step.state;
  const { facts, kills, openQuestions, options: { caller } } = session;
  const isAsked = openQuestions !== before.openQuestions && caller?.promptTool === undefined;
  // The facts are unchanged after almost every input.
  if (facts === before.facts && kills === before.kills && !isAsked) return;
  changeOutput(step, (output) => {
    const { options: { startedAt }, endingAt } = output.state;
    output.update({ facts });
    if (endingAt === undefined && kills > 0) {
      const endedBy = settledEnding(session) && session.announcedAt;
      output.update({ endingAt: at, endedBy });
    }
    if (!isAsked) return;
    const open = [...openQuestions.values()];
    const asked = new Set(
      open.map((each) => each.kind === "permission" ? each.call?.id : undefined),
    );
    const now = startedAt + at;
    if (recordPermissions(output, { asked, now })) step.emit(nextBeat(output.state, now));
  });
}

/**
 * Carries out the decisions of the control: emits frames for the effects that the caller sees, and passes other effects
 * on.
 */
function carryOut(
  step: ConversationStep,
  { effect, at }: { readonly effect: SessionEffect; readonly at: number },
): void {
  const emit = (use: (output: OutputStep) => void) => changeOutput(step, use);
  switch (effect.type) {
    case "turn":
      return receiveEnd(step, effect, at);
    case "respond":
      return emit((output) => emitResponse(output, effect, at));
    case "cancelled":
      return emit((output) => cancelMessage(output, effect.message));
    case "stopped":
      return emit((output) => emitStoppedTask(output, { task: effect.task, at }));
    case "model":
      return emit((output) => emitModel(output, { model: effect.model, at }));
    case "mode":
      return emit((output) => emitMode(output, effect.mode));
    case "remark":
      return emit((output) => emitHookFailure(output, effect));
    case "commands":
      return emit((output) => emitReloadedCommands(output, effect.commands));
    case "title":
      return emit((output) => emitTitle(output, effect.title));
    case "end":
      return conclude(step, { end: effect, at });
    default:
      return step.emit(effect);
  }
}

type EffectOf<Type extends SessionEffect["type"]> = Extract<SessionEffect, { readonly type: Type }>;

function receiveEnd(
  step: ConversationStep,
  { recorded, type: _, ...end }: EffectOf<"turn">,
  at: number,
): void {
  const deadlines = changeOutput(
    step,
    (output) => receiveTurnEnd(output, { ...end, at }, { recorded }),
  );
  emitReports(step);
  step.emit(...deadlines);
}

function emitResponse(
  output: OutputStep,
  { response: given, used }: EffectOf<"respond">,
  at: number,
): void {
  const now = output.state.options.startedAt + at;
  const response = used && given.subtype === "success" && given.response !== undefined
    ? { ...given, response: withUsage(output.state, { response: given.response, now }) }
    : given;
  recordCommands(output, response);
  output.emit({ type: "control_response", response });
}

/** Callbacks for each input and effect of a fold. */
export interface FoldWatcher {
  readonly onInput?: (input: Input) => void;
  readonly onEffect?: (effect: ConversationEffect) => void;
}

/** Passes inputs to a new conversation, one after the other. */
export function fold(
  options: ConversationOptions,
  inputs: Iterable<Input>,
  { onInput, onEffect }: FoldWatcher = {},
): ConversationState {
  let state = startConversation(options);
  for (const input of inputs) {
    onInput?.(input);
    const next = advance(state, input);
    state = next.state;
    for (const effect of next.effects) onEffect?.(effect);
  }
  return state;
}

/**
 * Defers message lifecycle frames until `initialize` is answered: `claude -p` accepts no messages before that. Once there
 * are frames of a turn, they come after the deferred ones.
 */
function deferUntilInitialized(
  step: ConversationStep,
  effects: readonly ConversationEffect[],
): readonly ConversationEffect[] {
  const { session, deferredFrames = [] } = step.state;
  const isBefore = isInitializing(session);
  // Almost always, nothing is deferred.
  if (!isBefore && deferredFrames.length === 0) return effects;
  if (isBefore && effects.every((effect) => framesOf(effect).every(isLifecycle))) {
    const own = effects.filter((effect) => effect.type === "frame");
    step.update({ deferredFrames: [...deferredFrames, ...own.map(({ frame }) => frame)] });
    return effects.filter(({ type }) => type !== "frame");
  }
  const isAnswer = (effect: ConversationEffect) =>
    framesOf(effect).some(({ type }) => type === "control_response");
  const answer = effects.findIndex(isAnswer);
  const next = effects.findIndex((effect, place) =>
    place > answer && framesOf(effect).some(({ type }) => type !== "control_response")
  );
  const at = next < 0 ? effects.length : next;
  step.update({ deferredFrames: [] });
  return effects.toSpliced(at, 0, ...deferredFrames.map(asEffect));
}
