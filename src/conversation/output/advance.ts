import { useLearntFacts } from "../../claude/versions/profiles.ts";
import type { Effect as SessionEffect } from "../control/effect.ts";
import type { Input } from "../control/input.ts";
import { step } from "../control/session_machine.ts";
import { type SessionState, startSession } from "../control/session_state.ts";
import { isRepeated, NO_LINES, ownLines } from "../../claude/transcript/entry_order.ts";
import { conclude, foretell, isWhole } from "./conclusion.ts";
import type { ConversationEffect, ConversationOptions, ConversationState } from "./conversation.ts";
import {
  andThen,
  asEffect,
  type ConversationStep,
  framesOf,
  say,
  withReports,
} from "./conversation_step.ts";
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
import { isLifecycle, tellCancelled } from "./messages.ts";
import { tellEnding, tellTurnEnd } from "./tell_end.ts";
import { keepCopied, nextBeat, tellInput } from "./tell_input.ts";
import {
  and,
  type FramesState,
  holdsLines,
  startFrames,
  type Told,
  told,
  withIds,
} from "./telling/frames_state.ts";
import { withUsage } from "./turns/conversation_usage.ts";
import { isInitializing } from "../protocol/requests/answers_in_order.ts";
import { isJsonObject } from "../../json_object.ts";
import type { Frame } from "../../claude/wire/frame.ts";
import type { Task } from "./frames/tasks.ts";
import { systemFrame } from "./frames/frame_context.ts";
import type { Activity } from "./telling/frames_options.ts";

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

/**
 * Holds back what is told of messages until the initialization has been answered, as `claude -p` takes none before; but
 * whatever is said of a turn comes behind it.
 */
function behindInitialization(step: ConversationStep): ConversationStep {
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

/** Adds the frames that tell what the session is at. */
function withStates(before: ConversationState, step: ConversationStep): ConversationStep {
  const answered = isAnswered(before.session, step.state.session)
    ? tellActivity(step.state.frames, "running")
    : told(step.state.frames);
  const { state: frames, around } = withActivity(answered.state, step.effects.flatMap(framesOf));
  const left = [...around];
  const effects = step.effects.flatMap((effect): readonly ConversationEffect[] => {
    const said = left.splice(0, framesOf(effect).length).flat();
    if (effect.type === "frame") return said.map(asEffect);
    return [effect.type === "end" ? { ...effect, frames: said } : effect];
  });
  return {
    state: { ...step.state, frames },
    effects: [...answered.frames.map(asEffect), ...effects],
  };
}

/**
 * What one input makes of frames, one list for each: the frame, and around it those about the state of the session. It works from the first that is told of a message on, and rests once its last
 * result has been told, and that the message was answered.
 */
export function withActivity(
  before: FramesState,
  frames: readonly Frame[],
): { readonly state: FramesState; readonly around: readonly (readonly Frame[])[] } {
  let state = before;
  let isOver = false;
  const around = frames.map((frame, at) => {
    let said = told(state);
    if (isBeginning(frame, state)) said = and(said, (state) => tellActivity(state, "running"));
    if (frame.type === "control_request" && frame.request.subtype === "can_use_tool") {
      said = and(said, (state) => tellActivity(state, "requires_action"));
    }
    said = { ...said, frames: [...said.frames, frame] };
    isOver = isLast(frame, said.state) || (isOver && !isInit(frame));
    if (isOver && !goesOn(frames.slice(at + 1))) {
      said = and(said, (state) => tellActivity(state, "idle"));
    }
    state = said.state;
    return said.frames;
  });
  return { state, around };
}

/**
 * Whether a frame is told of a session that is at work: of one at rest, it is the first of a message that is taken, or of
 * a prompt whose time has come.
 */
function isBeginning(frame: Frame, { activity = "idle" }: FramesState): boolean {
  if (isInit(frame)) return true;
  if (activity !== "idle") return false;
  if (frame.type === "control_request") {
    const { request } = frame;
    return request.subtype === "hook_callback" && isJsonObject(request.input) &&
      request.input["hook_event_name"] === "UserPromptSubmit";
  }
  return isLifecycle(frame) &&
    (frame["state"] === "queued" || frame["wakeup_source"] !== undefined);
}

/**
 * Whether nothing is under way behind a frame: a result, or that the only message was taken back. A subagent in the
 * background is under way, whose end begins a turn unless it was stopped; a shell is not. Once the caller says no more, a
 * session works until the model is woken that is to be.
 */
function isLast(
  frame: Frame,
  { awaited, begun, heardOut, rested, tasks, wakeupAt }: FramesState,
): boolean {
  if (heardOut && wakeupAt !== undefined) return false;
  const isAgent = ({ type, background }: Task) => type === "local_agent" && background;
  if (awaited.length > 0 || [...tasks.values()].some(isAgent)) return false;
  if (isLifecycle(frame)) return frame["state"] === "cancelled" && (rested || !begun);
  return frame.type === "result" ||
    (frame["subtype"] === "task_notification" && frame["status"] === "stopped" && rested);
}

/** Whether what follows belongs to a turn that is over, or is the result of another one. */
function goesOn(frames: readonly Frame[]): boolean {
  const [next] = frames;
  if (next !== undefined && isLifecycle(next) && next["state"] !== "queued") return true;
  const turn = frames.findIndex(isInit);
  return frames.slice(0, turn < 0 ? frames.length : turn).some(({ type }) => type === "result");
}

function isInit({ type, subtype }: Frame): boolean {
  return type === "system" && subtype === "init";
}

/** Tells what the session is at, if that is news. */
export function tellActivity(state: FramesState, activity: Activity): Told {
  const { options: { sessionId, activity: wanted } } = state;
  if (state.activity === activity) return told(state);
  const { state: next, made } = withIds(
    state,
    (newUuid) =>
      systemFrame(
        "session_state_changed",
        { state: activity, ...(wanted === "shown" ? {} : { sdk_host_only: true }) },
        { sessionId, newUuid },
      ),
  );
  return told({ ...next, activity }, [made]);
}

/** Whether the last permission that was asked for has been decided. */
export function isAnswered(before: SessionState, after: SessionState): boolean {
  const isPermission = ({ kind }: { readonly kind: string }) => kind === "permission";
  return [...before.asked.values()].some(isPermission) &&
    ![...after.asked.values()].some(isPermission);
}
