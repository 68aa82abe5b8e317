import type { JsonObject } from "../../../json_object.ts";
import { givenId } from "../../../claude/wire/request_id.ts";
import { asTold } from "./as_told.ts";
import { comparableMessage, compareWritten, type WrittenComparison } from "./compare_written.ts";
import { valueAt, withoutValue, withValue } from "./grown_map.ts";
import { hookNames } from "./hook_names.ts";
import { answerKey, type Played, type PlayEffect, type PlayState } from "./play_state.ts";
import type { RecordedProgram, WaitStep } from "./program_step.ts";

/** Takes what a step waits for and compares it; undefined where it is not there. */
export function takeStep(state: PlayState, step: WaitStep): Played | undefined {
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
export function toldOf(
  name: string,
  { difference, uncompared }: WrittenComparison,
): readonly PlayEffect[] {
  if (difference !== undefined) return [{ type: "divergence", what: `${name}: ${difference}` }];
  return uncompared === undefined
    ? []
    : [{ type: "uncompared", what: `${name} was not compared in whole: ${uncompared}` }];
}

/** What a program waits for, in words. */
export function nameOf(step: WaitStep, { messagesTaken, requestsTaken }: PlayState): string {
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
