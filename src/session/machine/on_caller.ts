import type { ControlRequest, ControlResponse } from "../../wire/control.ts";
import { isVersionAtLeast } from "../../wire/wire_keys.ts";
import type { Effect } from "../effect.ts";
import { abort, end } from "../ending.ts";
import { handOver } from "../handing_over.ts";
import { enqueued, type Message } from "../message.ts";
import type { SessionState } from "../session_state.ts";
import { act, stay, type Step } from "../step.ts";
import { overAtOnce } from "../turn_end.ts";

/** The caller sends a message. */
export function onMessage(state: SessionState, message: Message): Step {
  if (message.repeated) return stay(state);
  const next = { ...state, queue: enqueued(state.queue, message) };
  if (state.ending !== undefined) return stay(next);
  return message.priority === "now" && state.phase === "working" ? abort(next) : handOver(next);
}

/** There are no further messages: what has been sent is still answered. */
export function onClosed(state: SessionState): Step {
  const next = { ...state, open: false };
  if (state.ending !== undefined) return stay(next);
  return (state.phase === "settling" ? overAtOnce(next) : undefined) ?? handOver(next);
}

/** What the caller sends cannot be understood: nothing that follows could be trusted, so that nothing is done any more. */
export function onUnreadable(state: SessionState, reason: string): Step {
  const next = { ...state, open: false, queue: [] };
  return state.ending === undefined ? end(next, { kind: "unreadable", reason }) : stay(next);
}

/** The caller asks for something: whoever asks is answered, whatever becomes of the turn. */
export function onControl(state: SessionState, request: ControlRequest): Step {
  switch (request.subtype) {
    case "initialize":
      if (request.fields.length > 0) return act(state, [refuseFields(request)]);
      return act(state, [
        respond(request, {
          response: INITIALIZED,
          ...(isNew(state)
            ? { pending_permission_requests: [], pending_user_dialog_requests: [] }
            : {}),
        }),
      ]);
    case "interrupt": {
      const aborted = state.phase === "working" || state.phase === "entered"
        ? abort(state)
        : stay(state);
      const answer = isNew(state) ? { response: { still_queued: [] } } : {};
      return act(aborted.state, [respond(request, answer), ...aborted.effects]);
    }
    default:
      return act(state, [refuse(request, isNew(state))]);
  }
}

/** What is known before there is a child. */
const INITIALIZED = {
  commands: [],
  agents: [],
  output_style: "default",
  available_output_styles: ["default"],
  models: [],
  account: {},
};

/** Whether answers say what they do since 2.1.330. */
function isNew({ version = "" }: SessionState): boolean {
  return isVersionAtLeast(version, "2.1.330");
}

function respond(
  { id }: ControlRequest,
  answer: Omit<Extract<ControlResponse, { subtype: "success" }>, "subtype" | "request_id">,
): Effect {
  return { type: "respond", response: { subtype: "success", request_id: id, ...answer } };
}

/** What an initialization asks for would be missing without a word. */
function refuseFields({ id, fields }: ControlRequest): Effect {
  return {
    type: "respond",
    response: {
      subtype: "error",
      request_id: id,
      error: `claude-print does not honour ${fields.map((name) => `"${name}"`).join(", ")} yet`,
    },
  };
}

function refuse({ id, subtype }: ControlRequest, isNew: boolean): Effect {
  return {
    type: "respond",
    response: {
      subtype: "error",
      request_id: id,
      error: `Unsupported control request subtype: ${subtype}`,
      ...(isNew ? { error_code: "unsupported_request" } : {}),
    },
  };
}
