import type { JsonObject } from "../../../json_object.ts";
import { UNINITIALIZED } from "../../../claude/wire/control.ts";
import type { AnyFrame } from "../../../claude/wire/any_frame.ts";
import { givenId } from "../../../claude/wire/request_id.ts";
import { comparableMessage, compareWritten, type WrittenComparison } from "./compare_written.ts";
import { keysOf, valueAt, withValue } from "./grown_map.ts";
import {
  answerKey,
  type Played,
  type PlayEffect,
  type PlayInput,
  type PlayState,
  type Request,
} from "./play_state.ts";
import type { WaitStep } from "./program_step.ts";
import { replyEarly, speak } from "./speak.ts";
import { nameOf, takeStep, toldOf } from "./take_step.ts";
import { readWritten } from "./written.ts";

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
