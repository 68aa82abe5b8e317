import { type ControlRequest, type ControlResponse, isEmpty } from "../../wire/control.ts";
import { isVersionAtLeast } from "../../wire/wire_keys.ts";
import type { Effect } from "../effect.ts";
import { abort } from "../ending.ts";
import type { SessionState } from "../session_state.ts";
import { act, stay, type Step } from "../step.ts";
import { withdraw } from "./asking.ts";

/** The caller asks for something: whoever asks is answered, whatever becomes of the turn. */
export function onControl(state: SessionState, request: ControlRequest): Step {
  switch (request.subtype) {
    case "initialize":
      return onInitialize(state, request);
    case "interrupt":
      return onInterrupt(state, request);
    default:
      return act(state, [refuse(request, {
        error: `Unsupported control request subtype: ${request.subtype}`,
        ...(isNew(state) ? { error_code: "unsupported_request" } : {}),
      })]);
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

/**
 * What an initialization asks for has become a part of how the child was started, if it came before that; afterwards it
 * would be missing without a word.
 */
function onInitialize(state: SessionState, request: ControlRequest): Step {
  const { initialized } = state.options.caller ?? {};
  const missing = initialized?.id === request.id
    ? initialized.error
    : lateError(Object.keys(request.body).filter((name) => !isEmpty(request.body[name])));
  if (missing !== undefined) return act(state, [refuse(request, { error: missing })]);
  return act(state, [
    respond(request, {
      response: INITIALIZED,
      ...(isNew(state)
        ? { pending_permission_requests: [], pending_user_dialog_requests: [] }
        : {}),
    }),
  ]);
}

function lateError(fields: readonly string[]): string | undefined {
  if (fields.length === 0) return undefined;
  const names = fields.map((name) => `"${name}"`).join(", ");
  return `claude-print can honour ${names} only in an initialize that comes first`;
}

function onInterrupt(state: SessionState, request: ControlRequest): Step {
  const withdrawn = withdraw(state);
  const isUnderWay = state.phase === "working" || state.phase === "entered";
  const aborted = isUnderWay ? abort(withdrawn.state) : stay(withdrawn.state);
  const answer = isNew(state) ? { response: { still_queued: [] } } : {};
  return act(aborted.state, [
    ...withdrawn.effects,
    respond(request, answer),
    ...aborted.effects,
  ]);
}

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

function refuse(
  { id }: ControlRequest,
  why: { readonly error: string; readonly error_code?: string },
): Effect {
  return { type: "respond", response: { subtype: "error", request_id: id, ...why } };
}
