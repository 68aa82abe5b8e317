import { isJsonObject, type JsonObject } from "../../../json_object.ts";
import { UNINITIALIZED } from "../../../claude/wire/control.ts";
import type { AnyFrame } from "../../../claude/wire/any_frame.ts";
import { givenId } from "../../../claude/wire/request_id.ts";
import {
  comparableMessage,
  compareWritten,
  readWritten,
  type WrittenComparison,
} from "./caller_lines.ts";
import { keysOf, valueAt, withoutValue, withValue } from "./grown_map.ts";
import {
  answerKey,
  type Played,
  type PlayEffect,
  type PlayInput,
  type PlayState,
  type Request,
} from "./play_state.ts";
import type { RecordedProgram, WaitStep } from "./recorded_program.ts";
import { replyEarly, speak } from "./speak.ts";
import { asTold } from "./as_told.ts";

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
    case "stopped":
      return goOn({ ...state, stopped: true }, []);
    case "impatient": {
      const step = awaited(state);
      const what = step === undefined
        ? "The tape has ended, and the caller goes on"
        : step.kind === "stop"
        ? "The caller has not ended the program by a signal, as it did when it was recorded"
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
    case "message": {
      const number = state.messagesTaken + state.messages.size;
      return goOn({ ...state, messages: withValue(state.messages, [number, written]) }, []);
    }
    case "answer": {
      const again = valueAt(state.answered, written.id) ?? 0;
      return goOn({
        ...state,
        answers: withValue(state.answers, [answerKey(written.id, again), written]),
        answered: withValue(state.answered, [written.id, again + 1]),
      }, []);
    }
    case "request":
      return hearRequest(state, written);
  }
}

/** A request has to be the next one on the tape; one that is not is answered with an error, and its caller goes on. */
function hearRequest(state: PlayState, request: Request): Played {
  const { subtype } = request;
  const index = state.requestsTaken + state.requests.size;
  const step = state.plan.requests[index];
  if (subtype === "initialize" && !state.plan.isInitialized) {
    return { state, effects: [say(success(request, UNINITIALIZED))] };
  }
  if (step === undefined || step.subtype !== subtype) {
    const instead = step === undefined
      ? "the tape has no further request"
      : `the tape's next one is "${step.subtype}"`;
    const what = `The caller asks for "${subtype}", and ${instead}`;
    return { state, effects: [{ type: "divergence", what }, say(failure(request, what))] };
  }
  // What an SDK is set up with belongs to who uses it; hooks and servers are looked at once they are called.
  const comparison = subtype === "initialize"
    ? {}
    : compareWritten(step.request, request.request, state.program);
  const { difference }: WrittenComparison = comparison;
  const named = `Request ${index + 1} (${subtype})`;
  const what = `${named}: ${difference}`;
  const effects: readonly PlayEffect[] = difference === undefined
    ? toldOf(named, comparison)
    : [{ type: "divergence", what }, say(failure(request, what))];
  const heard = { ...request, isRefused: difference !== undefined };
  return goOn({ ...state, requests: withValue(state.requests, [index, heard]) }, effects);
}

/** Plays steps up to one that waits for what is not there. */
function goOn(from: PlayState, before: readonly PlayEffect[]): Played {
  const effects: PlayEffect[] = [...before];
  let state = from;
  for (;;) {
    const step = state.program.steps[state.next];
    if (step === undefined) return atEnd(state, effects);
    const taken = "frame" in step ? speak(state, step) : takeStep(state, step);
    if (taken === undefined) {
      const early = replyEarly(state);
      for (const effect of early.effects) effects.push(effect);
      state = early.state;
      // A signal can still come.
      const isLeft = state.closed && step.kind !== "stop";
      return isLeft ? leftAlone(state, step as WaitStep, effects) : { state, effects };
    }
    for (const effect of taken.effects) effects.push(effect);
    state = { ...taken.state, next: state.next + 1 };
  }
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
  const { program: { endsByItself }, messages, messagesTaken, closed } = state;
  const more = valueAt(messages, messagesTaken);
  if (more !== undefined) {
    const said = JSON.stringify(comparableMessage(more.message)["content"]).slice(0, 120);
    const what = `Message ${messagesTaken + 1} is not on the tape: ${said}`;
    return end(state, [...effects, { type: "divergence", what }]);
  }
  return closed || endsByItself ? end(state, effects) : { state, effects };
}

/** The program ends, as it did or because its caller does something else. */
function end(state: PlayState, before: readonly PlayEffect[]): Played {
  const unheard = keysOf(state.answers).flatMap((key) => {
    const { id = "" } = valueAt(state.answers, key) ?? {};
    if (valueAt(state.cancelled, id)) return [];
    const none = key === answerKey(id, 0) ? "no answer" : "no further answer";
    const what = valueAt(state.asked, id)
      ? `The caller answered the question ${id}, and the tape has ${none} to it`
      : `The caller answered a question ${id} that it was not asked`;
    return [{ type: "divergence", what } as const];
  });
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

function success(request: Request, response: JsonObject): AnyFrame {
  return {
    type: "control_response",
    response: { subtype: "success", ...givenId(request), response },
  };
}

function failure(request: Request, error: string): AnyFrame {
  return { type: "control_response", response: { subtype: "error", ...givenId(request), error } };
}

function say(frame: AnyFrame): PlayEffect {
  return { type: "say", frame, pauseMs: 0 };
}

/** Takes what a step waits for and compares it; undefined where it is not there. */
function takeStep(state: PlayState, step: WaitStep): Played | undefined {
  switch (step.kind) {
    case "message":
      return takeMessage(state, step);
    case "request":
      return takeRequest(state, step);
    case "answer":
      return takeAnswer(state, step);
    case "stop":
      return state.stopped ? { state, effects: [] } : undefined;
  }
}

function takeMessage(
  state: PlayState,
  step: Extract<WaitStep, { readonly kind: "message" }>,
): Played | undefined {
  const live = valueAt(state.messages, state.messagesTaken);
  if (live === undefined) return undefined;
  const comparison = step.message === undefined ? {} : compareWritten(
    comparableMessage(step.message),
    comparableMessage(live.message),
    state.program,
  );
  const messagesTaken = state.messagesTaken + 1;
  const { uuid } = step;
  const renamed = uuid !== undefined && live.uuid !== undefined && uuid !== live.uuid
    ? {
      renamed: withValue(state.renamed, [uuid, live.uuid]),
      recorded: withValue(state.recorded, [live.uuid, uuid]),
    }
    : {};
  return {
    state: {
      ...state,
      messages: withoutValue(state.messages, state.messagesTaken),
      messagesTaken,
      ...renamed,
    },
    effects: toldOf(`Message ${messagesTaken}`, comparison),
  };
}

function takeRequest(
  state: PlayState,
  step: Extract<WaitStep, { readonly kind: "request" }>,
): Played | undefined {
  const live = valueAt(state.requests, state.requestsTaken);
  if (live === undefined) {
    // Whoever begins with words will not introduce itself any more.
    if (step.subtype !== "initialize" || state.messages.size === 0) return undefined;
    const what = "The caller does not begin with initialize, as the one that was recorded did";
    return {
      state: { ...state, requestsTaken: state.requestsTaken + 1 },
      effects: [{ type: "divergence", what }],
    };
  }
  return {
    state: {
      ...state,
      requests: withoutValue(state.requests, state.requestsTaken),
      requestsTaken: state.requestsTaken + 1,
      open: live.isRefused || !state.plan.replies.has(step.id)
        ? state.open
        : withValue(state.open, [step.id, givenId(live)]),
      ...(step.subtype === "initialize" ? { hooks: hookNames(step.request, live.request) } : {}),
    },
    effects: [],
  };
}

function takeAnswer(
  state: PlayState,
  step: Extract<WaitStep, { readonly kind: "answer" }>,
): Played | undefined {
  if (valueAt(state.unasked, step.id)) return { state, effects: [] };
  const key = answerKey(step.id, step.again);
  const live = valueAt(state.answers, key);
  if (live === undefined) return undefined;
  const answers = withoutValue(state.answers, key);
  const comparison = compareAnswers(
    step.response,
    asTold(live.response, state.recorded),
    state.program,
  );
  return {
    state: { ...state, answers },
    effects: toldOf(`The answer to ${nameOfQuestion(step)}`, comparison),
  };
}

/** Two errors are the same, whatever they say: that there is one is what counts. */
function compareAnswers(
  recorded: JsonObject,
  live: JsonObject,
  program: RecordedProgram,
): WrittenComparison {
  if (recorded["subtype"] === "error" && live["subtype"] === "error") return {};
  if (recorded["subtype"] !== live["subtype"]) return compareWritten(recorded, live, program);
  return compareWritten(recorded["response"] ?? {}, live["response"] ?? {}, program);
}

/** What is told of something that was compared. */
function toldOf(
  name: string,
  { difference, uncompared }: WrittenComparison,
): readonly PlayEffect[] {
  if (difference !== undefined) return [{ type: "divergence", what: `${name}: ${difference}` }];
  return uncompared === undefined
    ? []
    : [{ type: "uncompared", what: `${name} was not compared in whole: ${uncompared}` }];
}

/** What a program waits for, in words. */
function nameOf(step: WaitStep, { messagesTaken, requestsTaken }: PlayState): string {
  switch (step.kind) {
    case "message":
      return `message ${messagesTaken + 1}`;
    case "request":
      return `request ${requestsTaken + 1} (${step.subtype})`;
    case "stop":
      return "the signal that ends the program";
    case "answer":
      return `the answer to ${nameOfQuestion(step)}`;
  }
}

function nameOfQuestion(
  { id, subtype }: { readonly id: string; readonly subtype: string },
): string {
  return `${subtype} ${id}`;
}

/**
 * How the caller of this run calls the hooks of the recorded one: an SDK numbers them, and who adds one moves the others.
 * Hooks are the same when they stand at the same place of the same event.
 *
 * @param recorded the `initialize` of the tape, and `live` that of this run
 * @returns by the recorded name; what is missing this caller does not have
 */
function hookNames(recorded: JsonObject, live: JsonObject): ReadonlyMap<string, string> {
  const now = new Map(hooksOf(live).map(({ place, name }) => [place, name]));
  return new Map(
    hooksOf(recorded).flatMap(({ place, name }) => {
      const other = now.get(place);
      return other === undefined ? [] : [[name, other] as const];
    }),
  );
}

function hooksOf(
  { hooks }: JsonObject,
): readonly { readonly place: string; readonly name: string }[] {
  if (!isJsonObject(hooks)) return [];
  return Object.entries(hooks).flatMap(([event, matchers]) =>
    (Array.isArray(matchers) ? matchers : []).flatMap((matcher, index) => {
      const names = isJsonObject(matcher) ? matcher["hookCallbackIds"] : undefined;
      return (Array.isArray(names) ? names : []).flatMap((name, inner) =>
        typeof name === "string" ? [{ place: `${event}/${index}/${inner}`, name }] : []
      );
    })
  );
}
