import { isInitializing } from "../protocol/requests/answers_in_order.ts";
import type { ConversationEffect } from "./conversation.ts";
import { asEffect, type ConversationStep, framesOf } from "./conversation_step.ts";
import { isLifecycle } from "./messages.ts";

/**
 * Holds back what is told of messages until the initialization has been answered, as `claude -p` takes none before; but
 * whatever is said of a turn comes behind it.
 */
export function behindInitialization(step: ConversationStep): ConversationStep {
  const isBefore = isInitializing(step.state.session);
  // As nearly always.
  if (!isBefore && step.state.heldFrames === undefined) return step;
  const { state: { heldFrames = [], ...state }, effects } = step;
  const isHeld = isBefore && effects.every((effect) => framesOf(effect).every(isLifecycle));
  const own = effects.filter((effect) => effect.type === "frame");
  if (isHeld) {
    const held = [...heldFrames, ...own.map(({ frame }) => frame)];
    return {
      state: held.length === 0 ? state : { ...state, heldFrames: held },
      effects: effects.filter(({ type }) => type !== "frame"),
    };
  }
  const isAnswer = (effect: ConversationEffect) =>
    framesOf(effect).some(({ type }) => type === "control_response");
  const at = effects.findLastIndex(isAnswer) + 1;
  return {
    state,
    effects: effects.toSpliced(at, 0, ...heldFrames.map(asEffect)),
  };
}
