import type { Effect as SessionEffect, Ending } from "../session/effect.ts";
import type { Input } from "../session/input.ts";
import { ticketsOf } from "../session/message.ts";
import { isInitializing } from "../session/control/requests/answers_in_order.ts";
import { step } from "../session/machine/machine.ts";
import type { SessionOptions } from "../session/session_options.ts";
import { type SessionState, startSession } from "../session/session_state.ts";
import { lastMessages } from "../session/turn/taking.ts";
import { costOfEntries } from "../transcript/turn/cost.ts";
import { isRepeated, NO_LINES, type OwnLines, ownLines } from "../transcript/own_lines.ts";
import type { Frame } from "../wire/frame.ts";
import { isVersionAtLeast } from "../wire/wire_keys.ts";
import { keepCopied, nextBeat, tellEnd, tellEnding, tellInput, tellTurnEnd } from "./tell_input.ts";
import { withUsage } from "./turns/conversation_usage.ts";
import { isLifecycle, tellCancelled, tellOver } from "./messages.ts";
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
import { isAheadOfSubagent } from "./lines/held_turns.ts";
import { noteAsked, noteDecided } from "./live/long_calls.ts";
import { isAnswered, tellActivity, withActivity } from "./activity.ts";
import type { FramesOptions } from "./telling/frames_options.ts";
import { type FramesState, holdsLines, startFrames, told } from "./telling/frames_state.ts";
import { listOf } from "../chain.ts";
import { reportTurns } from "./turns/report_turns.ts";
import type { Report, ReportOptions } from "./result/report.ts";

/** What a conversation is told before it begins. */
export interface ConversationOptions {
  readonly session: SessionOptions;
  readonly frames: FramesOptions;
  readonly report: ReportOptions;
}

/** Everything that has to be remembered between two inputs. */
export interface ConversationState {
  readonly options: ConversationOptions;
  readonly lines: OwnLines;
  readonly session: SessionState;
  readonly frames: FramesState;
  /** What is told of messages once the initialization has been answered. */
  readonly heldFrames?: readonly Frame[];
  /** When the child was told to go. */
  readonly endingAt?: number;
  /** Whether it was killed because it did not. */
  readonly isForced?: true;
  /** The child's end, as it was heard. */
  readonly exit?: Extract<Input, { readonly type: "exit" }>;
  /** How the last turn has ended, where the session takes what is written of it for whole. */
  readonly whole?: Ending;
}

/** Whatever a conversation does. */
export type ConversationEffect =
  | SessionDeed
  /** Print a frame, in the format that was asked for. */
  | { readonly type: "frame"; readonly frame: Frame }
  /** What became of a turn that the child outlived, after its last frame. */
  | { readonly type: "report"; readonly report: Report }
  /** What would be said if the child ended now: whoever waits for nothing else need not wait for that. */
  | { readonly type: "whole"; readonly said: readonly ConversationEffect[] }
  | EndEffect;

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

type SessionEnd = Extract<SessionEffect, { readonly type: "end" }>;

/** Nothing more will happen. */
export interface EndEffect extends SessionEnd {
  /** What is said last: it is printed once whoever looks on has gone. */
  readonly frames: readonly Frame[];
  /** What became of the last turn, after those; absent where all of them have been told. */
  readonly report?: Report;
}

/** A state and what is to be done because of it. */
export interface ConversationStep {
  readonly state: ConversationState;
  readonly effects: readonly ConversationEffect[];
}

/** A conversation before its first input. */
export function startConversation(options: ConversationOptions): ConversationState {
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

function framesOf(effect: ConversationEffect): readonly Frame[] {
  return effect.type === "frame" ? [effect.frame] : effect.type === "end" ? effect.frames : [];
}

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
    next = and(next, (state) => carryOut(state, { effect, at: input.at }));
  }
  return isWhole(next.state) ? and(next, (state) => foretell(state, input.at)) : next;
}

/** The first version that writes down what it has cost before it calls the hooks of its end. */
const WRITES_COST = "2.1.330";

/** Whether the transcript has all that is ever in it, and what is told of it needs no more. */
function isWhole({ whole, exit, session, frames, options }: ConversationState): boolean {
  // What the session is at is told with its end.
  if (whole === undefined || exit !== undefined || options.frames.activity) return false;
  if (isAheadOfSubagent(frames)) return false;
  // All has been told with the last turn, but for lines of the transcript.
  if (whole.kind === "closed" && options.frames.mirrorPath === undefined) return true;
  const { version } = session;
  if (version !== undefined && !isVersionAtLeast(version, WRITES_COST)) {
    return options.session.asksStatus !== true && options.session.maxBudgetUsd === undefined;
  }
  return frames.kept.cost !== undefined || costOfEntries(listOf(frames.own)) !== undefined;
}

/** Says what is said at an end, as if the child had come to it. */
function foretell(
  { whole: ending, ...state }: ConversationState,
  at: number,
): ConversationStep {
  if (ending === undefined) return { state, effects: [] };
  const exit = { kind: "exited", code: 0 } as const;
  const { effects } = conclude(state, { end: { type: "end", ending, exit }, at });
  return { state, effects: [{ type: "whole", said: effects }] };
}

function and(
  { state, effects }: ConversationStep,
  next: (state: ConversationState) => ConversationStep,
): ConversationStep {
  const step = next(state);
  return { state: step.state, effects: [...effects, ...step.effects] };
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
      return say({ ...state, frames: noteCommands(state.frames, response) }, {
        type: "control_response",
        response,
      });
    }
    case "ask": {
      const { id, question } = effect;
      const frames = question.subtype === "can_use_tool"
        ? noteAsked(state.frames, question.tool_use_id)
        : state.frames;
      return say({ ...state, frames }, {
        type: "control_request",
        request_id: id,
        request: question,
      });
    }
    case "withdraw":
      return say(state, { type: "control_cancel_request", request_id: effect.id });
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
    case "cancelled": {
      const { state: frames, frames: made } = tellCancelled(state.frames, effect.message);
      return { state: { ...state, frames }, effects: made.map(asEffect) };
    }
    case "stopped": {
      const { task } = effect;
      const { state: frames, frames: made } = tellStopped(state.frames, { task, at });
      return { state: { ...state, frames }, effects: made.map(asEffect) };
    }
    case "model": {
      const { model } = effect;
      const { state: frames, frames: made } = tellModel(state.frames, { model, at });
      return { state: { ...state, frames }, effects: made.map(asEffect) };
    }
    case "mode": {
      const { state: frames, frames: made } = tellMode(state.frames, effect.mode);
      return { state: { ...state, frames }, effects: made.map(asEffect) };
    }
    case "remark": {
      const { state: frames, frames: made } = tellHookFailure(state.frames, effect);
      return { state: { ...state, frames }, effects: made.map(asEffect) };
    }
    case "commands": {
      const { state: frames, frames: made } = tellReloaded(state.frames, effect);
      return { state: { ...state, frames }, effects: made.map(asEffect) };
    }
    case "title": {
      const { state: frames, frames: made } = tellTitle(state.frames, effect.title);
      return { state: { ...state, frames }, effects: made.map(asEffect) };
    }
    case "whole":
      return { state: { ...state, whole: effect.ending }, effects: [] };
    case "end":
      return conclude(state, { end: effect, at });
    default:
      return { state, effects: [effect] };
  }
}

/** Frames, what became of the turns whose ends are among them, and what is to be done about shells. */
function withReports(state: ConversationState, frames: readonly Frame[]): ConversationStep {
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

/** Says what is left to say, and what became of the run. */
function conclude(
  state: ConversationState,
  { end, at }: { readonly end: SessionEnd; readonly at: number },
): ConversationStep {
  const { frames: { startedAt } } = state.options;
  const { remains = {} } = state.exit ?? {};
  const isRenewed = end.ending.kind === "renewed";
  const { ended } = state.frames;
  // What has been said and not taken is told of beside the next child, and no turn begins with what a hook's answer ends;
  // a result that is still to be told is that of the turn under way.
  const isUntaken = isRenewed || end.ending.kind === "misnamed-answer";
  const frames = isUntaken
    ? { ...state.frames, awaited: [], rested: state.frames.rested || ended.length === 0 }
    : state.frames;
  const last = end.ending.kind === "refused" ? { state: frames, frames: [] } : tellEnd(frames, {
    version: remains.version ?? "unknown",
    now: startedAt + at,
  });
  const told = withReports({ ...state, frames: last.state }, last.frames);
  if (end.ending.kind === "closed" || isRenewed) {
    return { ...told, effects: [...told.effects, { ...end, frames: [] }] };
  }
  const { ahead, behind } = tellOver(told.state.frames, { stopped: end.ending.kind === "aborted" });
  const { state: reported, frames: results, report } = reportTurns(ahead.state, {
    ending: end.ending,
    at: state.endingAt ?? state.exit?.at ?? at,
    tickets: ticketsOf(lastMessages(state.session)),
  }, { exit: end.exit, remains, isForced: state.isForced === true });
  const over = behind(reported);
  return {
    state: { ...told.state, frames: over.state },
    effects: [
      ...told.effects,
      { ...end, frames: [...ahead.frames, ...results, ...over.frames], report },
    ],
  };
}

function say(state: ConversationState, frame: Frame): ConversationStep {
  return { state, effects: [asEffect(frame)] };
}

function asEffect(frame: Frame): ConversationEffect {
  return { type: "frame", frame };
}
