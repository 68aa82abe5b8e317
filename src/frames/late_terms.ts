import type { ConversationEffect, ConversationState } from "./conversation.ts";
import type { Limits } from "../session/session_state.ts";

/** What a conversation can be told after its child was started: it asks nothing of the child. */
export interface LateTerms extends Limits {
  /** Whether messages are printed again once Claude Code has taken them. */
  readonly replayMessages?: boolean;
  /** Whether what subagents say is told, whose end the turn waits for. */
  readonly subagentText?: boolean;
  /** Whether the ends of hooks are told. */
  readonly hookEvents?: boolean;
  /** Whether the last screen is wanted with every failure. */
  readonly trace: boolean;
}

/**
 * Has a conversation go on by other terms, before anything has been said in it.
 *
 * @param at the time, on the clock of inputs
 */
export function withTerms(
  state: ConversationState,
  { terms, at }: { readonly terms: LateTerms; readonly at: number },
): { readonly state: ConversationState; readonly effects: readonly ConversationEffect[] } {
  const { replayMessages, subagentText, hookEvents, trace: ____, ...limits } = terms;
  const session = { ...withoutLimits(state.session.options), ...limits };
  const { replay: _, subagentText: __, hookEvents: ___, ...others } = state.frames.options;
  const frames = {
    ...others,
    ...(replayMessages ? { replay: true as const } : {}),
    ...(subagentText ? { subagentText: true as const } : {}),
    ...(hookEvents ? { hookEvents: true as const } : {}),
  };
  const { idleTimeoutMs: silenceMs } = limits;
  const report = { ...state.frames.reporting, limits };
  return {
    state: {
      ...state,
      options: { session, frames, report },
      session: { ...state.session, options: session, lifeAt: at },
      frames: { ...state.frames, options: frames, reporting: report },
    },
    effects: [{
      type: "deadline",
      name: "silence",
      ...(silenceMs === undefined ? {} : { afterMs: silenceMs }),
    }],
  };
}

/** Of all limits one may be absent: that for silence. */
function withoutLimits<Options extends Limits>(options: Options): Omit<Options, "idleTimeoutMs"> {
  const { idleTimeoutMs: _, ...others } = options;
  return others;
}
