import { asText, isJsonObject } from "../../../json_object.ts";
import type { AnyFrame } from "../../../claude/wire/any_frame.ts";
import { asTold } from "./as_told.ts";
import { valueAt, withoutValue, withValue } from "./grown_map.ts";
import type { Played, PlayEffect, PlayState } from "./play_state.ts";
import type { ReplyStep } from "./program_plan.ts";
import type { ProgramStep } from "./recorded_program.ts";

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
        const question = `${asText(id)}`;
        if (valueAt(state.unasked, question)) return { state, effects: [] };
        const cancelled = withValue<string, true>(state.cancelled, [question, true]);
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
          state: { ...state, unasked: withValue(state.unasked, [step.id, true]) },
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
  { id, frame }: ReplyStep,
  pauseMs: number,
): Played {
  const live = valueAt(state.open, id);
  if (live === undefined) return { state, effects: [] };
  const { request_id: _, ...said } = isJsonObject(frame["response"]) ? frame["response"] : {};
  const response = { ...said, ...live };
  return {
    state: { ...state, open: withoutValue(state.open, id) },
    effects: [{ type: "say", frame: asTold({ ...frame, response }, state.renamed), pauseMs }],
  };
}

/**
 * Where the recorded caller wrote on before it had a reply, this one may wait for the reply first: it has it, if the
 * program had said nothing else by then. What the reply to `initialize` is hangs on nothing at all.
 *
 * What was looked at before is not again, however often the play stops: only where something has been said since do other
 * replies come next, and only of requests that were taken since is nothing known yet.
 */
export function replyEarly(from: PlayState): Played {
  const { plan, looked, requestsTaken } = from;
  const said = plan.said[from.next] ?? 0;
  const next = said === looked.said ? [] : plan.repliesBehind.get(said) ?? [];
  const taken = plan.requests.slice(looked.requests, requestsTaken).flatMap(({ id, subtype }) => {
    const placed = plan.replies.get(id);
    const isDue = placed && (subtype === "initialize" || plan.said[placed.index] === said);
    return isDue ? [placed] : [];
  });
  const effects: PlayEffect[] = [];
  let state: PlayState = { ...from, looked: { said, requests: requestsTaken } };
  for (const { step } of [...next, ...taken].toSorted((one, other) => one.index - other.index)) {
    const replied = reply(state, step, 0);
    for (const effect of replied.effects) effects.push(effect);
    state = replied.state;
  }
  return { state, effects };
}

/** Whether the caller waits for the reply to a request. */
export function hasOpenRequests({ open }: PlayState): boolean {
  return open.size > 0;
}

function withAsked(state: PlayState, id: string): PlayState {
  return { ...state, asked: withValue(state.asked, [id, true]) };
}
