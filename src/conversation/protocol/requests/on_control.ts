import { isJsonObject, type JsonObject } from "../../../json_object.ts";
import { type ControlRequest, isEmpty } from "../../../claude/wire/control.ts";
import type { Effect } from "../../control/effect.ts";
import type { SessionState } from "../../control/session_state.ts";
import { act, andThen, asOld, stay, type Step } from "../../control/step.ts";
import { changed, errorCode, hasBegun, refuse, refuseWithdrawn, respond } from "../answering.ts";
import { asksForServers, reachableServers, SET_SERVERS, setServers } from "../servers.ts";
import { onBackground } from "./backgrounding.ts";
import { CHOOSING, mayBeModel, whyNoModel } from "./choosing_model.ts";
import { answered, consult, CONSULTED, passedOn } from "./consulting.ts";
import { whyImpossible, withoutEffect } from "./impossible.ts";
import { RELOADING, whyNoReload } from "./reloading.ts";
import { onStopTask } from "./stopping.ts";
import { onTaskOutput, TASK_OUTPUT } from "./task_output.ts";
import { UPDATING, whyNoUpdate } from "./updating_settings.ts";
import type { Message } from "../../control/message.ts";
import { stopTurn } from "../../control/stop_turn.ts";
import { untakenMessages } from "../../control/taken_prompts.ts";
import { withdraw } from "../questions/unanswered.ts";
import { settingsFaults } from "../../../claude/settings/settings_faults.ts";

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

/** Takes a message back that the child has not been given yet. */
function onCancel(state: SessionState, request: ControlRequest): Step {
  const { message_uuid: uuid } = request.body;
  const message = typeof uuid === "string"
    ? state.queue.find((each) => each.uuid === uuid)
    : undefined;
  if (message === undefined) {
    return act(state, [respond(request, { response: { cancelled: false } })]);
  }
  return act({ ...state, queue: state.queue.filter((each) => each !== message) }, [
    { type: "cancelled", message },
    respond(request, {
      response: { cancelled: true, message_uuid: uuid },
    }),
  ]);
}

/** Values of `thinking_display`. */
const DISPLAYS: readonly unknown[] = ["summarized", "omitted", "highlights", null];

/** Sets the limit of thinking and how thinking is printed; what the request does not name stays as it is. */
function onSetThinking(state: SessionState, request: ControlRequest): Step {
  const { max_thinking_tokens: tokens, thinking_display: display } = request.body;
  // Claude Code takes any number below none for one, too (2.1.332).
  const isLimit = tokens === undefined || tokens === null || Number.isInteger(tokens);
  if (!isLimit || (display !== undefined && !DISPLAYS.includes(display))) {
    return act(state, [
      refuse(request, {
        error: "set_max_thinking_tokens: max_thinking_tokens must be an integer or null and " +
          'thinking_display must be "summarized", "omitted", "highlights", or null',
      }),
    ]);
  }
  return act(
    changed(state, {
      ...(tokens === undefined
        ? {}
        : { maxThinkingTokens: typeof tokens === "number" ? tokens : null }),
      ...(display !== undefined
        ? { thinkingDisplay: typeof display === "string" ? display : null }
        : {}),
    }),
    [respond(request)],
  );
}

/**
 * What an initialization asks for has become a part of how the child was started, if it came before that; afterwards it
 * would be missing without a word.
 */
function onInitialize(before: SessionState, request: ControlRequest): Step {
  const { initialized } = before.options.caller ?? {};
  const isFirst = initialized?.id === request.id;
  const missing = isFirst ? initialized.error : lateError(
    Object.keys(request.body).filter((name) =>
      !isEmpty(request.body[name]) && !NOTHING_LATER.includes(name) &&
      !isInForce(before, request, name)
    ),
  );
  const state = isFirst ? { ...before, inForce: request.body } : before;
  if (missing !== undefined) {
    return request.ahead ? stay(state) : act(state, [refuse(request, { error: missing })]);
  }
  const { foretold, ...others } = state;
  return foretold === undefined || initialized?.id !== request.id
    ? consult(state, request)
    : act(others, [passedOn(others, { request, said: foretold })]);
}

/** Fields that have no effect in `claude -p` unless the initialization comes first. */
const NOTHING_LATER = [
  ...["systemPrompt", "appendSystemPrompt", "agents", "promptSuggestions", "jsonSchema"],
  // The answer says whether they are there.
  ...["plugins", "mcpServers"],
];

/** Whether what a field asks for is what the first initialization has asked for: a caller may say all of it again. */
function isInForce(
  { inForce = {}, options: { caller } }: SessionState,
  { body }: ControlRequest,
  name: string,
): boolean {
  return caller?.initialized?.error === undefined && Object.hasOwn(inForce, name) &&
    JSON.stringify(inForce[name]) === JSON.stringify(body[name]);
}

function lateError(fields: readonly string[]): string | undefined {
  if (fields.length === 0) return undefined;
  const names = fields.map((name) => `"${name}"`).join(", ");
  return `claude-print can honour ${names} only in an initialize that comes first`;
}

/**
 * Stops the turn under way. The answer names the messages that are still to be answered, and the caller may have them
 * taken back: those that have been given to the child are its own by then.
 */
function onInterrupt(before: SessionState, request: ControlRequest): Step {
  const withdrawn = withdraw(before);
  const stopped = stopWithdrawn(withdrawn.state);
  const cancels = request.body["cancel_queued"] === true;
  const { queue } = stopped.state;
  const cancelled = cancels ? queue.filter(({ stopped }) => !stopped) : [];
  const state: SessionState = cancels
    ? { ...stopped.state, queue: queue.filter(({ stopped }) => stopped) }
    : stopped.state;
  const response = {
    still_queued: uuidsOf(untakenMessages(state).filter(({ stopped }) => !stopped)),
    ...(cancels ? { cancelled: uuidsOf(cancelled) } : {}),
  };
  return act(state, [
    ...withdrawn.effects,
    ...cancelled.map((message) => ({ type: "cancelled", message } as const)),
    respond(request, { response }),
    ...stopped.effects,
  ]);
}

/** Stops the turn; where no Escape will end the withdrawn hooks, they are answered at once. */
function stopWithdrawn(state: SessionState): Step {
  return andThen(
    asOld(state, stopTurn),
    (next) => next.phase === "aborting" ? stay(next) : refuseWithdrawn(next),
  );
}

function uuidsOf(messages: readonly Message[]): readonly string[] {
  return messages.flatMap(({ uuid }) => uuid ?? []);
}

/**
 * Ends the conversation: the turn under way, or that of the next message, is stopped, and other messages are not
 * answered any more.
 */
function onEndSession(before: SessionState, request: ControlRequest): Step {
  const withdrawn = withdraw({ ...before, dismissed: true });
  const stopped = stopWithdrawn(withdrawn.state);
  const { state } = stopped;
  const queue = state.queue.filter(({ stopped }) => stopped);
  return act({ ...state, queue }, [
    respond(request),
    ...withdrawn.effects,
    ...stopped.effects,
  ]);
}

/** Most characters of settings, as JSON: Claude Code ends at a file of more than 2 MiB, in which are others too (2.1.330). */
const MOST_SETTINGS = 500_000;

/** Other settings from the next message on, and with them another model. */
function onFlagSettings(state: SessionState, request: ControlRequest): Step {
  const { settings } = request.body;
  if (!isJsonObject(settings)) {
    const got = Array.isArray(settings)
      ? "an array"
      : settings === undefined || settings === null
      ? `${settings}`
      : typeof settings;
    return act(state, [refuse(request, {
      error: `apply_flag_settings requires \`settings\` to be an object, got ${got}`,
    })]);
  }
  const untaken = untakenKeys(settings, state);
  if (untaken.length > 0) {
    return act(state, [refuse(request, {
      error: "apply_flag_settings: nothing of this was applied, and earlier settings stay. " +
        `Claude Code does not take the values of: ${untaken.join(", ")}`,
    })]);
  }
  const all = { ...state.changes?.flagSettings, ...settings };
  if (JSON.stringify(all).length > MOST_SETTINGS) {
    return act(state, [refuse(request, {
      error: `Cannot apply settings: they have more than ${MOST_SETTINGS} characters`,
    })]);
  }
  if (settings["disableAllHooks"] === true) {
    return act(state, [refuse(request, {
      error: 'claude-print cannot honour "disableAllHooks": hooks tell when a turn ends',
    })]);
  }
  const { defaultMode = "default" } = isJsonObject(settings["permissions"])
    ? settings["permissions"]
    : {};
  if (modeNamed(defaultMode) === undefined) {
    return act(state, [refuse(request, {
      error: `Cannot apply settings: "defaultMode" must be one of ${MODES.join(", ")}`,
    })]);
  }
  const { model } = settings;
  const applied = changed(state, {
    flagSettings: settings,
    ...(mayBeModel(model) || model === null ? { model } : {}),
  });
  return act(applied, [
    ...(typeof model === "string" && hasBegun(state) ? [{ type: "model", model } as const] : []),
    respond(request),
  ]);
}

/** The keys whose values Claude Code does not take; those that are null are taken away. */
function untakenKeys(
  settings: JsonObject,
  { version = "" }: Pick<SessionState, "version">,
): readonly string[] {
  const set = Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== null));
  return [...new Set(settingsFaults(set, version).map(({ path }) => path.split(".", 1)[0] ?? ""))];
}

/** The permission modes that a caller may choose. */
const MODES = ["acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan"];

/** The mode of a name, if it is one of a mode: "manual" is another one for "default". */
function modeNamed(name: unknown): string | undefined {
  return name === "manual" ? "default" : MODES.find((mode) => mode === name);
}

/**
 * Another permission mode from the next message on. Before the first turn, the mode in force is the one in which the child
 * was started: to choose that again changes nothing.
 */
function onSetMode(state: SessionState, request: ControlRequest): Step {
  const mode = modeNamed(request.body["mode"]);
  if (mode === undefined) {
    return act(state, [
      refuse(request, {
        error: `Cannot set permission mode: must be one of ${MODES.join(", ")}`,
        ...errorCode(state, "invalid_mode"),
      }),
    ]);
  }
  if (mode === "bypassPermissions" && !state.options.caller?.mayBypass) {
    return act(state, [
      refuse(request, {
        error: "Cannot set permission mode to bypassPermissions because the session was not " +
          "launched with --dangerously-skip-permissions",
        ...errorCode(state, "bypass_not_launched"),
      }),
    ]);
  }
  const inForce = state.changes?.permissionMode ?? state.options.caller?.permissionMode;
  const isInForce = mode === inForce && !hasBegun(state);
  return act(isInForce ? state : changed(state, { permissionMode: mode }), [
    respond(request, { response: { mode } }),
    { type: "mode", mode },
  ]);
}
