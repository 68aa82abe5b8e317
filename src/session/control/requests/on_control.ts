import { type ControlRequest, isEmpty } from "../../../wire/control.ts";
import { isJsonObject, type JsonObject } from "../../../json_object.ts";
import { isVersionAtLeast } from "../../../wire/wire_keys.ts";
import { settingsFaults } from "../../../settings/settings_faults.ts";
import { GUARDS_SKILLS } from "../../../settings/hook_faults.ts";
import { versionFaults } from "../../../settings/version_faults.ts";
import type { Effect } from "../../effect.ts";
import { stopTurn } from "../../turn/aborting.ts";
import type { Message } from "../../message.ts";
import type { SessionState } from "../../session_state.ts";
import { act, stay, type Step } from "../../step.ts";
import { untakenMessages } from "../../turn/taking.ts";
import { withdraw } from "../questions/unanswered.ts";
import { changed, hasBegun, isNew, refuse, respond } from "../answering.ts";
import { onBackground } from "./backgrounding.ts";
import { CHOOSING, mayBeModel, whyNoModel } from "./choosing_model.ts";
import { answered, consult, CONSULTED, passedOn } from "./consulting.ts";
import { asksForServers, reachableServers, SET_SERVERS, setServers } from "../servers.ts";
import { onStopTask } from "./stopping.ts";
import { onTaskOutput, TASK_OUTPUT } from "./task_output.ts";
import { RELOADING, whyNoReload } from "./reloading.ts";
import { UPDATING, whyNoUpdate } from "./updating_settings.ts";
import { whyImpossible, withoutEffect } from "./impossible.ts";

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
        ? act(state, [{ type: "mcp-message", server, message }, respond(request)])
        : act(state, [refuse(request, { error: "An mcp_message needs a server and a message" })]);
    }
    case CHOOSING: {
      const refused = whyNoModel(state, request);
      return refused === undefined ? consult(state, request) : act(state, [refused]);
    }
    case "set_permission_mode":
      return onSetMode(state, request);
    case "set_max_thinking_tokens":
      return onSetThinking(state, request);
    case SET_SERVERS: {
      const answer = setServers(state, request);
      const isAsked = [...state.consulted.values()].some(asksForServers) ||
        !("error" in answer) && !isEmpty(reachableServers(request.body));
      return isAsked ? consult(state, request) : answered(state, { request, answer });
    }
    case "apply_flag_settings":
      return onFlagSettings(state, request);
    case "cancel_async_message":
      return onCancel(state, request);
    case "background_tasks":
      return onBackground(state, request);
    case "stop_task":
      return onStopTask(state, request);
    case "end_session":
      return onEndSession(state, request);
    case RELOADING: {
      const refused = whyNoReload(state, request);
      return refused === undefined ? consult(state, request) : act(state, [refused]);
    }
    case UPDATING: {
      const refused = whyNoUpdate(state, request);
      return refused === undefined ? consult(state, request) : act(state, [refused]);
    }
    case TASK_OUTPUT:
      return isNew(state) ? onTaskOutput(state, request) : act(state, [unanswered(state, request)]);
    default:
      if (CONSULTED.includes(request.subtype)) return consult(state, request);
      return act(state, [withoutEffect(state, request) ?? unanswered(state, request)]);
  }
}

/** Why nothing comes of a request: it cannot be carried out here, or there is none of its name. */
function unanswered(state: SessionState, request: ControlRequest): Effect {
  const impossible = whyImpossible(request.subtype);
  if (impossible !== undefined) return refuse(request, { error: impossible });
  return refuse(request, {
    error: `Unsupported control request subtype: ${request.subtype}`,
    ...(isNew(state) ? { error_code: "unsupported_request" } : {}),
  });
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
      !isEmpty(request.body[name]) && !isWithoutEffect(before, name) &&
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

const NOTHING_LATER = [
  ...["systemPrompt", "appendSystemPrompt", "agents", "promptSuggestions"],
  // The answer says whether they are there.
  ...["plugins", "mcpServers"],
];

/** Whether a field of an initialization that does not come first is nothing to `claude -p` (2.1.197 and 2.1.330). */
function isWithoutEffect(state: SessionState, name: string): boolean {
  return NOTHING_LATER.includes(name) || name === (isNew(state) ? "jsonSchema" : "hooks");
}

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
 * Stops the turn under way. Since 2.1.330 the caller is told which messages are still to be answered, and may have them
 * taken back: those that have been given to the child are its own by then.
 */
function onInterrupt(state: SessionState, request: ControlRequest): Step {
  const withdrawn = withdraw(state);
  const { queue } = state;
  const cancels = isNew(state) && request.body["cancel_queued"] === true;
  const stopped = stopTurn(cancels ? { ...withdrawn.state, queue: [] } : withdrawn.state);
  const response = {
    still_queued: uuidsOf(untakenMessages(stopped.state).filter(({ stopped }) => !stopped)),
    ...(cancels ? { cancelled: uuidsOf(queue) } : {}),
  };
  return act(stopped.state, [
    ...withdrawn.effects,
    ...(cancels ? queue.map((message) => ({ type: "cancelled", message } as const)) : []),
    respond(request, isNew(state) ? { response } : {}),
    ...stopped.effects,
  ]);
}

function uuidsOf(messages: readonly Message[]): readonly string[] {
  return messages.flatMap(({ uuid }) => uuid ?? []);
}

/** The permission modes that a caller may choose. */
const MODES = ["acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan"];

/** The mode of a name, if it is one of a mode: since 2.1.330 "manual" is another one for "default". */
function modeNamed(state: SessionState, name: unknown): string | undefined {
  return isNew(state) && name === "manual" ? "default" : MODES.find((mode) => mode === name);
}

/** Another permission mode from the next message on. */
function onSetMode(state: SessionState, request: ControlRequest): Step {
  const mode = modeNamed(state, request.body["mode"]);
  if (mode === undefined) {
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

/** How thinking may be told of; 2.1.197 takes no notice of it. */
const DISPLAYS: readonly unknown[] = ["summarized", "omitted", "highlights", null];

/** Since 2.1.330 a request that says nothing of a limit leaves that as it is. */
function onSetThinking(state: SessionState, request: ControlRequest): Step {
  const { max_thinking_tokens: tokens, thinking_display: display } = request.body;
  // Claude Code takes any number below none for one, too (2.1.197 and 2.1.330).
  const isLimit = tokens === undefined || tokens === null || Number.isInteger(tokens);
  if (!isLimit || (isNew(state) && display !== undefined && !DISPLAYS.includes(display))) {
    return act(state, [
      refuse(request, {
        error: isNew(state)
          ? "set_max_thinking_tokens: max_thinking_tokens must be an integer or null and " +
            'thinking_display must be "summarized", "omitted", "highlights", or null'
          : "Cannot set max_thinking_tokens: it has to be a whole number, or null for no limit",
      }),
    ]);
  }
  const isKept = tokens === undefined && isNew(state);
  return act(
    changed(state, {
      ...(isKept ? {} : { maxThinkingTokens: typeof tokens === "number" ? tokens : null }),
      ...(isNew(state) && display !== undefined
        ? { thinkingDisplay: typeof display === "string" ? display : null }
        : {}),
    }),
    [respond(request)],
  );
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
  const untaken = isNew(state) ? untakenKeys(settings, state) : [];
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
  if (modeNamed(state, defaultMode) === undefined) {
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

/** The keys whose values Claude Code does not take (since 2.1.330); those that are null are taken away. */
function untakenKeys(
  settings: JsonObject,
  { version = "" }: Pick<SessionState, "version">,
): readonly string[] {
  const set = Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== null));
  const { since, guarded } = versionFaults(set);
  const ofVersion = isVersionAtLeast(version, GUARDS_SKILLS) ? guarded : since;
  const faults = [...settingsFaults(set), ...ofVersion];
  return [...new Set(faults.map(({ path }) => path.split(".", 1)[0] ?? ""))];
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
      response: { cancelled: true, ...(isNew(state) ? { message_uuid: uuid } : {}) },
    }),
  ]);
}

/**
 * Ends the conversation: the turn under way, or that of the next message, is stopped, and since 2.1.330 what else waits is
 * not answered any more.
 */
function onEndSession(before: SessionState, request: ControlRequest): Step {
  const withdrawn = withdraw({ ...before, dismissed: true });
  const stopped = stopTurn(withdrawn.state);
  const { state } = stopped;
  const queue = isNew(state) ? state.queue.filter(({ stopped }) => stopped) : state.queue;
  return act({ ...state, queue }, [
    respond(request),
    ...withdrawn.effects,
    ...stopped.effects,
  ]);
}
