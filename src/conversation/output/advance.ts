import { useLearntFacts } from "../../claude/versions/profiles.ts";
import type { Effect as SessionEffect } from "../control/effect.ts";
import type { Input } from "../control/input.ts";
import { step } from "../control/machine/machine.ts";
import { startSession } from "../control/session_state.ts";
import { isRepeated, NO_LINES, ownLines } from "../../claude/transcript/own_lines.ts";
import { behindInitialization } from "./behind_initialization.ts";
import { conclude, foretell, isWhole } from "./conclusion.ts";
import type { ConversationEffect, ConversationOptions, ConversationState } from "./conversation.ts";
import { andThen, type ConversationStep, say, withReports } from "./conversation_step.ts";
import {
  noteCommands,
  noteDecision,
  tellHookFailure,
  tellMode,
  tellModel,
  tellReloaded,
  tellStopped,
  tellTitle,
} from "./decisions.ts";
import { noteAsked, noteDecided } from "./live/long_calls.ts";
import { tellCancelled } from "./messages.ts";
import { withStates } from "./activity.ts";
import { tellEnding, tellTurnEnd } from "./tell_end.ts";
import { keepCopied, nextBeat, tellInput } from "./tell_input.ts";
import { holdsLines, startFrames, told } from "./telling/frames_state.ts";
import { withUsage } from "./turns/conversation_usage.ts";

/** A conversation before its first input. */
export function startConversation(options: ConversationOptions): ConversationState {
  // A recording has them for where they were not learnt.
  for (const [version, facts] of Object.entries(options.frames.learnt ?? {})) {
    useLearntFacts(version, facts);
  }
  return {
    options,
    lines: NO_LINES,
    session: startSession(options.session),
    frames: startFrames(options.frames, options.report),
  };
}

/**
 * Takes one input and says what is to be done: the session machine decides what to do to the child, the frames machine
 * what is said of it. No clock, no file, no environment is read here, and no random number made.
 */
export function advance(before: ConversationState, input: Input): ConversationStep {
  const next = behindInitialization(advanceBoth(before, input));
  return before.options.frames.activity ? withStates(before, next) : next;
}

/** Has both machines take an input. */
function advanceBoth(before: ConversationState, input: Input): ConversationStep {
  const lines = ownLines(before.lines, input);
  if (lines === undefined) {
    // Else a hook or a tool has resumed the session with `claude -p`, of which the child knows nothing.
    const isCopied = input.type === "transcript" && isRepeated(before.lines, input.entry);
    const frames = isCopied ? keepCopied(before.frames, input.entry) : before.frames;
    return { state: { ...before, frames }, effects: [] };
  }
  const said = tellInput(before.frames, input);
  // What is held back is read, and not told.
  const isTelling = input.type === "read" || (input.type === "deadline" && input.name === "init");
  const session = isTelling && holdsLines(said.state)
    ? { state: before.session, effects: [] }
    : step(before.session, input);
  const kills = session.effects.filter((effect) => effect.type === "kill");
  const isEnding = before.endingAt === undefined && kills.length > 0;
  const state: ConversationState = {
    ...before,
    lines,
    session: session.state,
    frames: isEnding ? tellEnding(said.state, input.at) : said.state,
    ...(isEnding ? { endingAt: input.at } : {}),
    ...(kills.some(({ signal }) => signal === "SIGKILL") ? { isForced: true } : {}),
    ...(input.type === "exit" ? { exit: input } : {}),
  };
  let next = withReports(state, said.frames);
  if (said.effects.length > 0) next = { ...next, effects: [...next.effects, ...said.effects] };
  for (const effect of session.effects) {
    next = andThen(next, (state) => carryOut(state, { effect, at: input.at }));
  }
  return isWhole(next.state) ? andThen(next, (state) => foretell(state, input.at)) : next;
}

/** What the session decides is done as it is, but for what is to be said because of it. */
function carryOut(
  state: ConversationState,
  { effect, at }: { readonly effect: SessionEffect; readonly at: number },
): ConversationStep {
  switch (effect.type) {
    case "turn": {
      const { recorded, type: _, ...end } = effect;
      const over = tellTurnEnd(state.frames, { ...end, at }, { recorded });
      const said = withReports({ ...state, frames: over.state }, over.frames);
      return { ...said, effects: [...said.effects, ...over.effects] };
    }
    case "respond": {
      const { response: said, used } = effect;
      const now = state.options.frames.startedAt + at;
      const response = used && said.subtype === "success" && said.response !== undefined
        ? { ...said, response: withUsage(state.frames, { response: said.response, now }) }
        : said;
      const frames = noteCommands(state.frames, response);
      return say(state, told(frames, [{ type: "control_response", response }]));
    }
    case "ask": {
      const { id, question } = effect;
      const frames = question.subtype === "can_use_tool"
        ? noteAsked(state.frames, question.tool_use_id)
        : state.frames;
      const asked = { type: "control_request", request_id: id, request: question } as const;
      return say(state, told(frames, [asked]));
    }
    case "withdraw": {
      const withdrawn = { type: "control_cancel_request", request_id: effect.id } as const;
      return say(state, told(state.frames, [withdrawn]));
    }
    case "decided": {
      const now = state.options.frames.startedAt + at;
      const before = noteDecision(state.frames, effect);
      const frames = noteDecided(before, { id: effect.toolUseId, now });
      return {
        state: { ...state, frames },
        effects: frames === before ? [] : [nextBeat(frames, now)],
      };
    }
    case "named": {
      const { line, given } = effect;
      const givenIds = state.frames.givenIds.with(line, given);
      return { state: { ...state, frames: { ...state.frames, givenIds } }, effects: [effect] };
    }
    case "cancelled":
      return say(state, tellCancelled(state.frames, effect.message));
    case "stopped":
      return say(state, tellStopped(state.frames, { task: effect.task, at }));
    case "model":
      return say(state, tellModel(state.frames, { model: effect.model, at }));
    case "mode":
      return say(state, tellMode(state.frames, effect.mode));
    case "remark":
      return say(state, tellHookFailure(state.frames, effect));
    case "commands":
      return say(state, tellReloaded(state.frames, effect));
    case "title":
      return say(state, tellTitle(state.frames, effect.title));
    case "whole":
      return { state: { ...state, whole: effect.ending }, effects: [] };
    case "end":
      return conclude(state, { end: effect, at });
    default:
      return { state, effects: [effect] };
  }
}

/** Whoever looks on while inputs are gone through. */
export interface FoldWatcher {
  readonly onInput?: (input: Input) => void;
  readonly onEffect?: (effect: ConversationEffect) => void;
}

/** Gives a new conversation its inputs, one after the other. */
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
