import type { Effect } from "../session/effect.ts";
import type { Input } from "../session/input.ts";
import { step } from "../session/machine.ts";
import { type SessionOptions, type SessionState, startSession } from "../session/session_state.ts";
import { NO_LINES, type OwnLines, ownLines } from "../transcript/own_lines.ts";
import type { Frame } from "../wire/frame.ts";
import { tellEnd, tellEnding, tellInput } from "./frames.ts";
import { type FramesOptions, type FramesState, startFrames } from "./frames_state.ts";
import { type Report, type ReportOptions, reportRun } from "./report.ts";

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
  /** When the child was told to go. */
  readonly endingAt?: number;
  /** The child's end, as it was heard. */
  readonly exit?: Extract<Input, { readonly type: "exit" }>;
}

/** Whatever a conversation does. */
export type ConversationEffect =
  | Effect
  /** Print a frame, in the format that was asked for. */
  | { readonly type: "frame"; readonly frame: Frame }
  /** What became of the run: just before the `end`, after its last frame. */
  | { readonly type: "report"; readonly report: Report };

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
    frames: startFrames(options.frames),
  };
}

/**
 * Takes one input and says what is to be done: the session machine decides what to do to the child, the frames machine
 * what is said of it. No clock, no file, no environment is read here, and no random number made.
 */
export function advance(before: ConversationState, input: Input): ConversationStep {
  const lines = ownLines(before.lines, input);
  // A hook or a tool has resumed the session with `claude -p`, of which the child knows nothing.
  if (lines === undefined) return { state: before, effects: [] };
  const session = step(before.session, input);
  const said = tellInput(before.frames, input);
  const isEnding = before.endingAt === undefined &&
    session.effects.some(({ type }) => type === "kill");
  const state: ConversationState = {
    ...before,
    lines,
    session: session.state,
    frames: isEnding ? tellEnding(said.state) : said.state,
    ...(isEnding ? { endingAt: input.at } : {}),
    ...(input.type === "exit" ? { exit: input } : {}),
  };
  const effects = [...session.effects, ...said.effects, ...said.frames.map(asEffect)];
  const end = session.effects.find(({ type }) => type === "end");
  return end === undefined ? { state, effects } : conclude(state, {
    end: end as Extract<Effect, { readonly type: "end" }>,
    at: input.at,
    effects: effects.filter((effect) => effect !== end),
  });
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
  { end, at, effects }: {
    readonly end: Extract<Effect, { readonly type: "end" }>;
    readonly at: number;
    readonly effects: readonly ConversationEffect[];
  },
): ConversationStep {
  const { frames: { startedAt }, report: options } = state.options;
  const { remains = {} } = state.exit ?? {};
  const last = tellEnd(state.frames, {
    version: remains.version ?? "unknown",
    now: startedAt + at,
  });
  const { state: frames, frames: results, report } = reportRun(last.state, {
    ending: end.ending,
    exit: end.exit,
    endingAt: state.endingAt ?? state.exit?.at ?? at,
    remains,
  }, options);
  return {
    state: { ...state, frames },
    effects: [
      ...effects,
      ...[...last.frames, ...results].map(asEffect),
      { type: "report", report },
      end,
    ],
  };
}

function asEffect(frame: Frame): ConversationEffect {
  return { type: "frame", frame };
}
