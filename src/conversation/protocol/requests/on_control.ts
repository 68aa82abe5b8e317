import { isJsonObject } from "../../../json_object.ts";
import { type ControlRequest, isEmpty } from "../../../claude/wire/control.ts";
import type { Effect } from "../../control/effect.ts";
import type { SessionState } from "../../control/session_state.ts";
import { act, type Step } from "../../control/step.ts";
import { errorCode, refuse, respond } from "../answering.ts";
import { asksForServers, reachableServers, SET_SERVERS, setServers } from "../servers.ts";
import { onFlagSettings } from "./applying_settings.ts";
import { onBackground } from "./backgrounding.ts";
import { onCancel } from "./cancelling.ts";
import { onSetMode } from "./choosing_mode.ts";
import { CHOOSING, whyNoModel } from "./choosing_model.ts";
import { answered, consult, CONSULTED } from "./consulting.ts";
import { whyImpossible, withoutEffect } from "./impossible.ts";
import { onInitialize } from "./initializing.ts";
import { onEndSession, onInterrupt } from "./interrupting.ts";
import { onSetThinking } from "./limiting_thinking.ts";
import { RELOADING, whyNoReload } from "./reloading.ts";
import { onStopTask } from "./stopping.ts";
import { onTaskOutput, TASK_OUTPUT } from "./task_output.ts";
import { UPDATING, whyNoUpdate } from "./updating_settings.ts";

/** The caller asks for something: whoever asks is answered, whatever becomes of the turn. */
export function onControl(state: SessionState, request: ControlRequest): Step {
  switch (request.subtype) {
    case "initialize":
      return onInitialize(state, request);
    case "interrupt":
      return onInterrupt(state, request);
    case "end_session":
      return onEndSession(state, request);
    case "cancel_async_message":
      return onCancel(state, request);
    case "mcp_message":
      return onMcpMessage(state, request);
    case CHOOSING:
      return consultUnless(state, { request, refused: whyNoModel(state, request) });
    case "set_permission_mode":
      return onSetMode(state, request);
    case "set_max_thinking_tokens":
      return onSetThinking(state, request);
    case SET_SERVERS:
      return onSetServers(state, request);
    case "apply_flag_settings":
      return onFlagSettings(state, request);
    case "background_tasks":
      return onBackground(state, request);
    case "stop_task":
      return onStopTask(state, request);
    case RELOADING:
      return consultUnless(state, { request, refused: whyNoReload(state, request) });
    case UPDATING:
      return consultUnless(state, { request, refused: whyNoUpdate(request) });
    case TASK_OUTPUT:
      return onTaskOutput(state, request);
    default:
      if (CONSULTED.includes(request.subtype)) return consult(state, request);
      return act(state, [withoutEffect(request) ?? unanswered(state, request)]);
  }
}

/** One of the MCP servers of the caller's says something to the child, unasked; from no server nothing comes of it. */
function onMcpMessage(state: SessionState, request: ControlRequest): Step {
  const { server_name: server, message } = request.body;
  return typeof server === "string" && isJsonObject(message)
    ? act(state, [{ type: "mcp-message", server, message }, respond(request)])
    : act(state, [respond(request)]);
}

/** The caller sets MCP servers, of which a headless Claude Code says whether they can be reached. */
function onSetServers(state: SessionState, request: ControlRequest): Step {
  const answer = setServers(state, request);
  const isAsked = [...state.consulted.values()].some(asksForServers) ||
    !("error" in answer) && !isEmpty(reachableServers(request.body));
  return isAsked ? consult(state, request) : answered(state, { request, answer });
}

/** Has a headless Claude Code asked, unless there is a reason to refuse before that. */
function consultUnless(
  state: SessionState,
  { request, refused }: {
    readonly request: ControlRequest;
    readonly refused: Effect | undefined;
  },
): Step {
  return refused === undefined ? consult(state, request) : act(state, [refused]);
}

/** Why nothing comes of a request: it cannot be carried out here, or there is none of its name. */
function unanswered(state: SessionState, request: ControlRequest): Effect {
  const impossible = whyImpossible(request.subtype);
  if (impossible !== undefined) return refuse(request, { error: impossible });
  return refuse(request, {
    error: `Unsupported control request subtype: ${request.subtype}`,
    ...errorCode(state, "unsupported_request"),
  });
}
