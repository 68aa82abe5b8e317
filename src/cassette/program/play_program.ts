import { asText, isJsonObject, type JsonObject } from "../../transcript/json_object.ts";
import { UNINITIALIZED } from "../../wire/control.ts";
import type { AnyFrame } from "../../wire/frame.ts";
import { asTold, type Renamed } from "./as_told.ts";
import { comparableMessage, differenceBetween } from "./compare_written.ts";
import { hookNames } from "./hook_names.ts";
import type { ProgramStep, RecordedProgram, WaitStep } from "./program_step.ts";
import { readWritten, type Written } from "./written.ts";

type Message = Extract<Written, { readonly kind: "message" }>;
type Request = Extract<Written, { readonly kind: "request" }>;

/** What is played of a program, and what its caller has written ahead of its turn. */
export interface PlayState {
  readonly program: RecordedProgram;
  /** The next step. */
  readonly next: number;
  /** What was written and not yet waited for. */
  readonly messages: readonly Message[];
  readonly requests: readonly (Request & { readonly isRefused: boolean })[];
  readonly answers: ReadonlyMap<string, JsonObject>;
  /** Messages that were waited for, and requests. */
  readonly messagesTaken: number;
  readonly requestsTaken: number;
  /** The requests of the tape, in their order. */
  readonly expected: readonly Extract<WaitStep, { readonly kind: "request" }>[];
  /** The ids of this run for those requests of the tape that have a reply, and which have had it. */
  readonly requestIds: Renamed;
  readonly replied: ReadonlySet<string>;
  readonly renamed: Renamed;
  /** By their names on the tape, what this caller calls its hooks; absent before it has said so. */
  readonly hooks?: ReadonlyMap<string, string>;
  /** Questions that could not be asked, and those that were taken back. */
  readonly unasked: ReadonlySet<string>;
  readonly cancelled: ReadonlySet<string>;
  readonly asked: ReadonlySet<string>;
  /** Whether the caller's input has ended. */
  readonly closed: boolean;
  /** The exit code that the last result means. */
  readonly resultCode: number;
  readonly ended: boolean;
}

/** What a program is told. */
export type PlayInput =
  | { readonly type: "start" }
  | { readonly type: "line"; readonly line: string }
  | { readonly type: "closed" }
  /** The caller has had its time. */
  | { readonly type: "impatient" };

/** What is done then. */
export type PlayEffect =
  /** Something is said, so many milliseconds after what came before it on the tape. */
  | { readonly type: "say"; readonly frame: AnyFrame; readonly pauseMs: number }
  /** The caller does not do what it did. */
  | { readonly type: "divergence"; readonly what: string }
  | { readonly type: "end"; readonly code: number; readonly stderr?: string };

/** A state and what came of it. */
export interface Played {
  readonly state: PlayState;
  readonly effects: readonly PlayEffect[];
}

/**
 * A program before it has said anything.
 *
 * @param options.sessionId the session that this run is to have
 */
export function startPlay(
  program: RecordedProgram,
  { sessionId }: { readonly sessionId?: string } = {},
): PlayState {
  const isRenamed = sessionId !== undefined && program.sessionId !== undefined &&
    program.sessionId !== sessionId;
  return {
    program,
    next: 0,
    messages: [],
    requests: [],
    answers: new Map(),
    messagesTaken: 0,
    requestsTaken: 0,
    expected: program.steps.filter((step) => step.kind === "request"),
    requestIds: new Map(),
    replied: new Set(),
    renamed: new Map(isRenamed ? [[program.sessionId, sessionId]] : []),
    unasked: new Set(),
    cancelled: new Set(),
    asked: new Set(),
    closed: false,
    resultCode: 0,
    ended: false,
  };
}

/**
 * Plays a recorded program as far as it goes with what its caller has written by now: says what it said, waits for what
 * it waited for, and compares what is written with the tape. What its caller does otherwise is told, and the play goes
 * on: it never hangs on it, and never takes it for the same.
 */
export function play(state: PlayState, input: PlayInput): Played {
  if (state.ended) return { state, effects: [] };
  switch (input.type) {
    case "start":
      return goOn(state, []);
    case "line":
      return hear(state, input.line);
    case "closed":
      return goOn({ ...state, closed: true }, []);
    case "impatient": {
      const step = awaited(state);
      const what = step === undefined
        ? "The tape has ended, and the caller goes on"
        : `The caller has not written ${nameOf(step, state)}, as it did when it was recorded`;
      return end(state, [{ type: "divergence", what }]);
    }
  }
}

/** What the program waits for; undefined at its end. */
export function awaited({ program, next, ended }: PlayState): WaitStep | undefined {
  const step = ended ? undefined : program.steps[next];
  return step !== undefined && !("frame" in step) ? step : undefined;
}

function hear(state: PlayState, line: string): Played {
  const written = readWritten(line);
  switch (written?.kind) {
    case undefined:
    case "passing":
      return { state, effects: [] };
    case "unknown":
      return {
        state,
        effects: [{ type: "divergence", what: `The caller wrote ${written.what}` }],
      };
    case "message":
      return goOn({ ...state, messages: [...state.messages, written] }, []);
    case "answer": {
      const answers = new Map(state.answers).set(written.id, written.response);
      return goOn({ ...state, answers }, []);
    }
    case "request":
      return hearRequest(state, written);
  }
}

/** A request has to be the next one on the tape; one that is not is answered with an error, and its caller goes on. */
function hearRequest(state: PlayState, request: Request): Played {
  const { subtype, id } = request;
  const index = state.requestsTaken + state.requests.length;
  const step = state.expected[index];
  if (subtype === "initialize" && !state.expected.some((each) => each.subtype === subtype)) {
    return { state, effects: [say(success(id, UNINITIALIZED))] };
  }
  if (step === undefined || step.subtype !== subtype) {
    const instead = step === undefined
      ? "the tape has no further request"
      : `the tape's next one is "${step.subtype}"`;
    const what = `The caller asks for "${subtype}", and ${instead}`;
    return { state, effects: [{ type: "divergence", what }, say(failure(id, what))] };
  }
  // What an SDK is set up with belongs to who uses it; hooks and servers are looked at once they are called.
  const difference = subtype === "initialize"
    ? undefined
    : differenceBetween(step.request, request.request, state.program);
  const what = `Request ${index + 1} (${subtype}): ${difference}`;
  const effects: readonly PlayEffect[] = difference === undefined
    ? []
    : [{ type: "divergence", what }, say(failure(id, what))];
  const heard = { ...request, isRefused: difference !== undefined };
  return goOn({ ...state, requests: [...state.requests, heard] }, effects);
}

/** Plays steps up to one that waits for what is not there. */
function goOn(from: PlayState, before: readonly PlayEffect[]): Played {
  const effects: PlayEffect[] = [...before];
  let state = from;
  for (;;) {
    const step = state.program.steps[state.next];
    if (step === undefined) return atEnd(state, effects);
    const taken = "frame" in step ? speak(state, step) : take(state, step);
    if (taken === undefined) {
      const early = replyEarly(state);
      effects.push(...early.effects);
      state = early.state;
      return state.closed ? leftAlone(state, step as WaitStep, effects) : { state, effects };
    }
    effects.push(...taken.effects);
    state = { ...taken.state, next: state.next + 1 };
  }
}

/** What the program said at a step is said again, in the ids of this run. */
function speak(
  state: PlayState,
  step: Extract<ProgramStep, { readonly frame: AnyFrame }>,
): Played {
  const pauseMs = Math.max(0, step.at - (state.program.steps[state.next - 1]?.at ?? 0));
  const told = (frame: AnyFrame): PlayEffect => ({
    type: "say",
    frame: asTold(frame, state.renamed),
    pauseMs,
  });
  switch (step.kind) {
    case "frame": {
      const { type, is_error, request_id: id } = step.frame;
      const effects = [told(step.frame)];
      if (type === "control_cancel_request") {
        if (state.unasked.has(`${asText(id)}`)) return { state, effects: [] };
        const cancelled = new Set(state.cancelled).add(`${asText(id)}`);
        return { state: { ...state, cancelled }, effects };
      }
      const resultCode = type === "result" ? Number(is_error === true) : state.resultCode;
      return { state: { ...state, resultCode }, effects };
    }
    case "reply":
      return reply(state, step, pauseMs);
    case "ask": {
      const { subtype, callback_id: name } = step.request;
      if (subtype !== "hook_callback" || typeof name !== "string" || state.hooks === undefined) {
        return { state: withAsked(state, step.id), effects: [told(step.frame)] };
      }
      const live = state.hooks.get(name);
      if (live === undefined) {
        const event = isJsonObject(step.request["input"])
          ? ` for ${asText(step.request["input"]["hook_event_name"])}`
          : "";
        return {
          state: { ...state, unasked: new Set(state.unasked).add(step.id) },
          effects: [{
            type: "divergence",
            what: `The tape calls a hook "${name}"${event}, which the caller does not have`,
          }],
        };
      }
      const request = { ...step.request, callback_id: live };
      return { state: withAsked(state, step.id), effects: [told({ ...step.frame, request })] };
    }
  }
}

/** The reply to a request is the one on the tape, unless this caller has not made it or has its reply. */
function reply(
  state: PlayState,
  { id, frame }: Extract<ProgramStep, { readonly kind: "reply" }>,
  pauseMs: number,
): Played {
  const live = state.requestIds.get(id);
  if (live === undefined || state.replied.has(id)) return { state, effects: [] };
  const response = {
    ...isJsonObject(frame["response"]) ? frame["response"] : {},
    request_id: live,
  };
  return {
    state: { ...state, replied: new Set(state.replied).add(id) },
    effects: [{ type: "say", frame: asTold({ ...frame, response }, state.renamed), pauseMs }],
  };
}

/**
 * Where the recorded caller wrote on before it had a reply, this one may wait for the reply first: it has it, if the
 * program had said nothing else by then. What the reply to `initialize` is hangs on nothing at all.
 */
function replyEarly(from: PlayState): Played {
  const effects: PlayEffect[] = [];
  let state = from;
  let isBehindFrames = false;
  for (let at = from.next; hasOpenRequests(state); at++) {
    const step = from.program.steps[at];
    if (step === undefined) break;
    if (step.kind === "frame" || step.kind === "ask") isBehindFrames = true;
    if (step.kind !== "reply" || (isBehindFrames && !isInitialize(state, step.id))) continue;
    const replied = reply(state, step, 0);
    effects.push(...replied.effects);
    state = replied.state;
  }
  return { state, effects };
}

/** Whether the caller waits for the reply to a request. */
export function hasOpenRequests({ requestIds, replied }: PlayState): boolean {
  return requestIds.size > replied.size;
}

function isInitialize({ expected }: PlayState, id: string): boolean {
  return expected.some((each) => each.id === id && each.subtype === "initialize");
}

function withAsked(state: PlayState, id: string): PlayState {
  return { ...state, asked: new Set(state.asked).add(id) };
}

/** Takes what a step waits for and compares it; undefined where it is not there. */
function take(state: PlayState, step: WaitStep): Played | undefined {
  switch (step.kind) {
    case "message":
      return takeMessage(state, step);
    case "request":
      return takeRequest(state, step);
    case "answer":
      return takeAnswer(state, step);
  }
}

function takeMessage(
  state: PlayState,
  step: Extract<WaitStep, { readonly kind: "message" }>,
): Played | undefined {
  const [live, ...messages] = state.messages;
  if (live === undefined) return undefined;
  const difference = step.message &&
    differenceBetween(
      comparableMessage(step.message),
      comparableMessage(live.message),
      state.program,
    );
  const messagesTaken = state.messagesTaken + 1;
  const isRenamed = step.uuid !== undefined && live.uuid !== undefined && step.uuid !== live.uuid;
  return {
    state: {
      ...state,
      messages,
      messagesTaken,
      renamed: isRenamed ? new Map(state.renamed).set(step.uuid, live.uuid) : state.renamed,
    },
    effects: difference === undefined
      ? []
      : [{ type: "divergence", what: `Message ${messagesTaken}: ${difference}` }],
  };
}

function takeRequest(
  state: PlayState,
  step: Extract<WaitStep, { readonly kind: "request" }>,
): Played | undefined {
  const [live, ...requests] = state.requests;
  if (live === undefined) {
    // Whoever begins with words will not introduce itself any more.
    if (step.subtype !== "initialize" || state.messages.length === 0) return undefined;
    const what = "The caller does not begin with initialize, as the one that was recorded did";
    return {
      state: { ...state, requestsTaken: state.requestsTaken + 1 },
      effects: [{ type: "divergence", what }],
    };
  }
  return {
    state: {
      ...state,
      requests,
      requestsTaken: state.requestsTaken + 1,
      requestIds: live.isRefused || !hasReply(state, step.id)
        ? state.requestIds
        : new Map(state.requestIds).set(step.id, live.id),
      ...(step.subtype === "initialize" ? { hooks: hookNames(step.request, live.request) } : {}),
    },
    effects: [],
  };
}

function hasReply({ program: { steps } }: PlayState, id: string): boolean {
  return steps.some((step) => step.kind === "reply" && step.id === id);
}

function takeAnswer(
  state: PlayState,
  step: Extract<WaitStep, { readonly kind: "answer" }>,
): Played | undefined {
  if (state.unasked.has(step.id)) return { state, effects: [] };
  const live = state.answers.get(step.id);
  if (live === undefined) return undefined;
  const answers = new Map(state.answers);
  answers.delete(step.id);
  const difference = answerDifference(
    step.response,
    asRecorded(live, state.renamed),
    state.program,
  );
  return {
    state: { ...state, answers },
    effects: difference === undefined
      ? []
      : [{ type: "divergence", what: `The answer to ${nameOfQuestion(step)}: ${difference}` }],
  };
}

/** What was answered, in the ids of the tape. */
function asRecorded(live: JsonObject, renamed: Renamed): JsonObject {
  return asTold(live, new Map([...renamed].map(([from, to]) => [to, from])));
}

/** Two errors are the same, whatever they say: that there is one is what counts. */
function answerDifference(
  recorded: JsonObject,
  live: JsonObject,
  program: RecordedProgram,
): string | undefined {
  if (recorded["subtype"] === "error" && live["subtype"] === "error") return undefined;
  if (recorded["subtype"] !== live["subtype"]) return differenceBetween(recorded, live);
  return differenceBetween(recorded["response"] ?? {}, live["response"] ?? {}, program);
}

/** The caller has ended its input where the tape has more of it. */
function leftAlone(
  state: PlayState,
  step: WaitStep,
  effects: readonly PlayEffect[],
): Played {
  const more =
    state.program.steps.slice(state.next + 1).filter((each) => !("frame" in each)).length;
  const what = `The caller ended its input before ${nameOf(step, state)}${
    more === 0 ? "" : ` and ${more} more of what it wrote when it was recorded`
  }`;
  return end(state, [...effects, { type: "divergence", what }]);
}

function atEnd(state: PlayState, effects: readonly PlayEffect[]): Played {
  const { program: { endsByItself }, messages, closed } = state;
  const [more] = messages;
  if (more !== undefined) {
    const said = JSON.stringify(comparableMessage(more.message)["content"]).slice(0, 120);
    const what = `Message ${state.messagesTaken + 1} is not on the tape: ${said}`;
    return end(state, [...effects, { type: "divergence", what }]);
  }
  return closed || endsByItself ? end(state, effects) : { state, effects };
}

/** The program ends, as it did or because its caller does something else. */
function end(state: PlayState, before: readonly PlayEffect[]): Played {
  const unheard = [...state.answers.keys()].filter((id) => !state.cancelled.has(id)).map((id) => ({
    type: "divergence",
    what: state.asked.has(id)
      ? `The caller answered the question ${id}, and the tape has no answer to it`
      : `The caller answered a question ${id} that it was not asked`,
  } as const));
  const { exit } = state.program;
  return {
    state: { ...state, ended: true },
    effects: [
      ...before,
      ...unheard,
      {
        type: "end",
        code: exit?.code ?? state.resultCode,
        ...(exit?.stderr === undefined ? {} : { stderr: exit.stderr }),
      },
    ],
  };
}

function nameOf(step: WaitStep, { messagesTaken, requestsTaken }: PlayState): string {
  switch (step.kind) {
    case "message":
      return `message ${messagesTaken + 1}`;
    case "request":
      return `request ${requestsTaken + 1} (${step.subtype})`;
    case "answer":
      return `the answer to ${nameOfQuestion(step)}`;
  }
}

function nameOfQuestion(
  { id, subtype }: { readonly id: string; readonly subtype: string },
): string {
  return `${subtype} ${id}`;
}

function success(id: string, response: JsonObject): AnyFrame {
  return {
    type: "control_response",
    response: { subtype: "success", request_id: id, response },
  };
}

function failure(id: string, error: string): AnyFrame {
  return { type: "control_response", response: { subtype: "error", request_id: id, error } };
}

function say(frame: AnyFrame): PlayEffect {
  return { type: "say", frame, pauseMs: 0 };
}
