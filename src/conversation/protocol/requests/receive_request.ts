import { isJsonObject } from "../../../json_object.ts";
import { type ControlRequest, isEmpty } from "../../../claude/wire/control.ts";
import type { ControlStep } from "../../control/control_step.ts";
import type { Effect } from "../../control/effect.ts";
import type { Message } from "../../control/message.ts";
import { stopTurn } from "../../control/stop_turn.ts";
import { untakenMessages } from "../../control/taken_prompts.ts";
import { refuseWithdrawn, respond } from "../answers.ts";
import { asksForServers, reachableServers, SET_SERVERS, setServers } from "./mcp_requests.ts";
import { withdraw } from "../questions/unanswered.ts";
import {
  ASKED_OF_HELPER,
  askHelper,
  emitServersAnswer,
  RELOAD_PLUGINS,
  reloadRefusal,
} from "./ask_helper.ts";
import { onBackgroundTasks, onStopTask, onTaskOutput, TASK_OUTPUT } from "./background_calls.ts";
import {
  modelRefusal,
  onFlagSettings,
  onSetMode,
  onSetThinking,
  SET_MODEL,
  settingsFileRefusal,
  UPDATE_SETTINGS,
} from "./child_changes.ts";
import { onInitialize } from "./initialize.ts";
import { fixedAnswer, refuseUnsupported } from "./unsupported.ts";

/** Receives a control request of the caller. Each request is answered, even if the turn fails. */
export function receiveRequest(step: ControlStep, request: ControlRequest): void {
  switch (request.subtype) {
    case "initialize":
      return onInitialize(step, request);
    case "interrupt":
      return onInterrupt(step, request);
    case "end_session":
      return onEndSession(step, request);
    case "cancel_async_message":
      return onCancel(step, request);
    case "mcp_message":
      return onMcpMessage(step, request);
    case SET_MODEL:
      return askUnless(step, request, modelRefusal(step.state, request));
    case "set_permission_mode":
      return onSetMode(step, request);
    case "set_max_thinking_tokens":
      return onSetThinking(step, request);
    case SET_SERVERS:
      return onSetServers(step, request);
    case "apply_flag_settings":
      return onFlagSettings(step, request);
    case "background_tasks":
      return onBackgroundTasks(step, request);
    case "stop_task":
      return onStopTask(step, request);
    case RELOAD_PLUGINS:
      return askUnless(step, request, reloadRefusal(step.state, request));
    case UPDATE_SETTINGS:
      return askUnless(step, request, settingsFileRefusal(request));
    case TASK_OUTPUT:
      return onTaskOutput(step, request);
    default:
      if (ASKED_OF_HELPER.includes(request.subtype)) askHelper(step, request);
      else step.emit(fixedAnswer(request) ?? refuseUnsupported(step.state, request));
  }
}

/** Asks the helper, unless the request is refused first. */
function askUnless(step: ControlStep, request: ControlRequest, refusal: Effect | undefined): void {
  if (refusal === undefined) askHelper(step, request);
  else step.emit(refusal);
}

/** Passes a message of one of the caller's MCP servers on to the child. Ignores a message without a server. */
function onMcpMessage(step: ControlStep, request: ControlRequest): void {
  const { server_name: server, message } = request.body;
  if (typeof server === "string" && isJsonObject(message)) {
    step.emit({ type: "mcp-message", server, message });
  }
  step.emit(respond(request));
}

/** Sets the caller's MCP servers. The helper is first asked whether the servers that it can reach answer. */
function onSetServers(step: ControlStep, request: ControlRequest): void {
  const answer = setServers(step.state, request);
  const mustAsk = [...step.state.consultedRequests.values()].some(asksForServers) ||
    !("error" in answer) && !isEmpty(reachableServers(request.body));
  if (mustAsk) askHelper(step, request);
  else emitServersAnswer(step, { request, answer });
}

/** Cancels a message that the child has not received. */
function onCancel(step: ControlStep, request: ControlRequest): void {
  const { queue } = step.state;
  const { message_uuid: uuid } = request.body;
  const message = typeof uuid === "string" ? queue.find((each) => each.uuid === uuid) : undefined;
  if (message === undefined) {
    step.emit(respond(request, { response: { cancelled: false } }));
    return;
  }
  step.update({ queue: queue.filter((each) => each !== message) });
  step.emit(
    { type: "cancelled", message },
    respond(request, { response: { cancelled: true, message_uuid: uuid } }),
  );
}

/**
 * Stops the current turn. The answer names the messages that are still unanswered. With `cancel_queued`, the caller
 * cancels the messages that the child has not received.
 */
function onInterrupt(step: ControlStep, request: ControlRequest): void {
  withdraw(step);
  const stopEffects = step.capture(() => stopWithdrawn(step));
  const { queue } = step.state;
  const cancels = request.body["cancel_queued"] === true;
  const cancelled = cancels ? queue.filter(({ stopped }) => !stopped) : [];
  if (cancels) step.update({ queue: queue.filter(({ stopped }) => stopped) });
  const stillQueued = untakenMessages(step.state).filter(({ stopped }) => !stopped);
  step.emit(
    ...cancelled.map((message) => ({ type: "cancelled", message } as const)),
    respond(request, {
      response: {
        still_queued: uuidsOf(stillQueued),
        ...(cancels ? { cancelled: uuidsOf(cancelled) } : {}),
      },
    }),
    ...stopEffects,
  );
}

/** Stops the turn. Withdrawn hooks that no Escape will end are answered immediately. */
function stopWithdrawn(step: ControlStep): void {
  stopTurn(step);
  if (step.state.phase !== "aborting") refuseWithdrawn(step);
}

function uuidsOf(messages: readonly Message[]): readonly string[] {
  return messages.flatMap(({ uuid }) => uuid ?? []);
}

/** Ends the conversation: stops the current turn, or the turn of the next message, and drops all other messages. */
function onEndSession(step: ControlStep, request: ControlRequest): void {
  step.update({ isDismissed: true });
  step.emit(respond(request));
  withdraw(step);
  stopWithdrawn(step);
  step.update({ queue: step.state.queue.filter(({ stopped }) => stopped) });
}
