import { type ControlRequest, type ControlResponse, isEmpty } from "../../wire/control.ts";
import { isVersionAtLeast } from "../../wire/wire_keys.ts";
import { isJsonObject } from "../../transcript/json_object.ts";
import type { ChildChanges, Effect } from "../effect.ts";
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
    case "mcp_message": {
      const { server_name: server, message } = request.body;
      return typeof server === "string" && isJsonObject(message)
        ? act(state, [{ type: "mcp-message", server, message }, respond(request, {})])
        : act(state, [refuse(request, { error: "An mcp_message needs a server and a message" })]);
    }
    case "set_model":
      return onSetModel(state, request);
    case "set_permission_mode":
      return onSetMode(state, request);
    case "set_max_thinking_tokens":
      return onSetThinking(state, request);
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

/** Another model from the next message on: it goes to a child that is started with it. */
function onSetModel(state: SessionState, request: ControlRequest): Step {
  const { model } = request.body;
  if (!isEmpty(model) && typeof model !== "string") {
    return act(state, [
      refuse(request, { error: "Cannot set the model: its name has to be text" }),
    ]);
  }
  const named = typeof model === "string" && model !== "" && model !== "default" ? model : null;
  const answer = isNew(state) ? { response: { model: named ?? "default" } } : {};
  return act(changed(state, { model: named }), [
    ...(state.turns > 0 ? [{ type: "model", model: named ?? "default" } as const] : []),
    respond(request, answer),
  ]);
}

/** The permission modes that a caller may choose. */
const MODES = ["acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan"];

/** Another permission mode from the next message on. */
function onSetMode(state: SessionState, request: ControlRequest): Step {
  const { mode } = request.body;
  if (typeof mode !== "string" || !MODES.includes(mode)) {
    return act(state, [
      refuse(request, {
        error: `Cannot set permission mode: must be one of ${MODES.join(", ")}`,
        ...(isNew(state) ? { error_code: "invalid_mode" } : {}),
      }),
    ]);
  }
  if (mode === "bypassPermissions" && !state.options.caller?.mayBypass) {
    return act(state, [
      refuse(request, {
        error: "Cannot set permission mode to bypassPermissions because the session was not " +
          "launched with --dangerously-skip-permissions",
        ...(isNew(state) ? { error_code: "bypass_not_launched" } : {}),
      }),
    ]);
  }
  return act(changed(state, { permissionMode: mode }), [
    respond(request, { response: { mode } }),
    { type: "mode", mode },
  ]);
}

function onSetThinking(state: SessionState, request: ControlRequest): Step {
  const { max_thinking_tokens: tokens } = request.body;
  if (tokens !== null && !(Number.isSafeInteger(tokens) && Number(tokens) >= 0)) {
    return act(state, [
      refuse(request, {
        error: "Cannot set max_thinking_tokens: it has to be a whole number, or null for no limit",
      }),
    ]);
  }
  return act(changed(state, { maxThinkingTokens: tokens === null ? null : Number(tokens) }), [
    respond(request, {}),
  ]);
}

function changed(state: SessionState, changes: ChildChanges): SessionState {
  return { ...state, changes: { ...state.changes, ...changes } };
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
