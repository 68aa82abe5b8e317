import { asText, isJsonObject } from "../../transcript/json_object.ts";
import type { AnyFrame } from "../../wire/frame.ts";
import { asTold } from "./as_told.ts";
import type { Played, PlayEffect, PlayState } from "./play_state.ts";
import type { ProgramStep } from "./program_step.ts";

/** What the program said at a step is said again, in the ids of this run. */
export function speak(
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
export function replyEarly(from: PlayState): Played {
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
