import { settingsFaults } from "../../../claude/settings/settings_faults.ts";
import { hasCapability } from "../../../claude/versions/profiles.ts";
import type { ControlRequest } from "../../../claude/wire/control.ts";
import { definedFields } from "../../../defined_fields.ts";
import { asText, isJsonObject, type JsonObject } from "../../../json_object.ts";
import type { ControlStep } from "../../control/control_step.ts";
import type { ChildChanges, Effect } from "../../control/effect.ts";
import type { HelperReply } from "../../control/input.ts";
import type { SessionState } from "../../control/session_state.ts";
import { errorCode, refuse, respond } from "../answers.ts";

/** The request that chooses a model. */
export const SET_MODEL = "set_model";

/**
 * The request that writes settings to a file, as `/config` does. The helper writes the project's local settings, and the
 * next message goes to a new child, which reads them.
 */
export const UPDATE_SETTINGS = "update_settings";

/** The maximum length of a model's name in characters. The name is an argument of the next child. */
const LONGEST_MODEL = 10_000;

/**
 * The maximum length of settings as JSON, in characters. Claude Code exits at a file of more than 2 MiB, which also
 * holds other settings (2.1.330).
 */
const MOST_SETTINGS = 500_000;

/** The permission modes that a caller may choose. */
const MODES = ["acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan"];

/** Values of `thinking_display`. */
const DISPLAYS: readonly unknown[] = ["summarized", "omitted", "highlights", null];

/** Whether a turn is running or has run. */
export function hasBegun({ phase, turns }: Pick<SessionState, "phase" | "turns">): boolean {
  return turns > 0 || phase === "working" || phase === "settling";
}

/** Changes the start of the next message's child. Even an empty change needs a new child. */
export function changeNextChild(step: ControlStep, changes: ChildChanges): void {
  step.update({ changes: mergeChanges(step.state.changes, changes) });
}

/** Merges changes. Settings and switched servers are merged by key; other fields are replaced. */
export function mergeChanges(
  before: ChildChanges | undefined,
  changes: ChildChanges,
): ChildChanges {
  const { flagSettings, switched } = changes;
  const { chosenModel, ...others } = before ?? {};
  return {
    ...others,
    // A full name belongs to the model that was chosen with it.
    ...(chosenModel === undefined || changes.model !== undefined ? {} : { chosenModel }),
    ...changes,
    ...(flagSettings === undefined
      ? {}
      : { flagSettings: { ...before?.flagSettings, ...flagSettings } }),
    ...(switched === undefined ? {} : { switched: { ...before?.switched, ...switched } }),
  };
}

/** The refusal of a choice of a model that the helper need not check; undefined for any other choice. */
export function modelRefusal(state: SessionState, request: ControlRequest): Effect | undefined {
  const { model } = request.body;
  if (!isNone(model) && !mayBeModel(model)) {
    return refuse(request, {
      error: typeof model === "string"
        ? "Cannot set the model: its name is too long"
        : "set_model: model must be a string",
      ...errorCode(state, "invalid_request"),
    });
  }
  return state.options.caller?.watchesModels
    ? refuse(request, {
      error:
        "Cannot set the model: a hook for PreModelSwitch or PostModelSwitch is set, which would not be called; begin another conversation with --model",
    })
    : undefined;
}

/**
 * Receives the helper's answer to `set_model`, which has the model's full name. The model takes effect with the next
 * message, which goes to a child that is started with it. If no helper could be asked, the name in the request is used.
 *
 * As in `claude -p`, the model is reported if it has changed; in most versions not before the first turn.
 */
export function onModelAnswer(
  step: ControlStep,
  { request, answer }: { readonly request: ControlRequest; readonly answer: HelperReply },
): void {
  if ("error" in answer) {
    const { error, errorCode, model } = answer;
    step.emit(refuse(request, definedFields({ error, error_code: errorCode, model })));
    return;
  }
  const { model } = request.body;
  const chosen = typeof model === "string" && model !== "" && model !== "default" ? model : null;
  const response = "response" in answer ? answer.response : {};
  const fullName = modelIn(response) ?? modelIn(response["after"]);
  const name = fullName ?? chosen ?? "default";
  const previous = chosenBefore(step.state) ?? modelIn(response["before"]);
  const isOther = fullName === undefined || fullName !== previous;
  const isAnswered = hasCapability(step.state.version, "chosenModelAnswer");
  changeNextChild(step, definedFields({ model: chosen, chosenModel: fullName }));
  if (isOther && (!isAnswered || hasBegun(step.state))) {
    step.emit({ type: "model", model: modelLabel(model, name) });
  }
  step.emit(respond(request, isAnswered ? { response: { model: name } } : {}));
}

/** The full name of the model that was chosen since the child was started; empty if unknown. */
function chosenBefore({ changes }: SessionState): string | undefined {
  return changes?.model === undefined ? undefined : changes.chosenModel ?? "";
}

function modelIn(settings: unknown): string | undefined {
  const model = isJsonObject(settings) ? settings["model"] : undefined;
  return typeof model === "string" ? model : undefined;
}

/** The name of a model, in brackets after the alias by which it was chosen. */
function modelLabel(chosen: unknown, name: string): string {
  const alias = isNone(chosen) || chosen === "default" ? name : asText(chosen).trim();
  return alias === name ? name : `${alias} (${name})`;
}

function mayBeModel(model: unknown): model is string {
  return typeof model === "string" && model.length <= LONGEST_MODEL;
}

function isNone(model: unknown): model is null | undefined {
  return model === undefined || model === null;
}

/** Sets the limit of thinking and how thinking is printed. Fields that the request omits do not change. */
export function onSetThinking(step: ControlStep, request: ControlRequest): void {
  const { max_thinking_tokens: tokens, thinking_display: display } = request.body;
  // Claude Code accepts negative numbers, too (2.1.332).
  const isLimit = tokens === undefined || tokens === null || Number.isInteger(tokens);
  if (!isLimit || (display !== undefined && !DISPLAYS.includes(display))) {
    step.emit(refuse(request, {
      error: "set_max_thinking_tokens: max_thinking_tokens must be an integer or null and " +
        'thinking_display must be "summarized", "omitted", "highlights", or null',
    }));
    return;
  }
  changeNextChild(step, {
    ...(tokens === undefined
      ? {}
      : { maxThinkingTokens: typeof tokens === "number" ? tokens : null }),
    ...(display === undefined
      ? {}
      : { thinkingDisplay: typeof display === "string" ? display : null }),
  });
  step.emit(respond(request));
}

/**
 * Sets the permission mode from the next message on. Before the first turn, the current mode is the one in which the
 * child was started. Choosing that mode again changes nothing.
 */
export function onSetMode(step: ControlStep, request: ControlRequest): void {
  const { changes, options: { caller } } = step.state;
  const mode = modeNamed(request.body["mode"]);
  if (mode === undefined) {
    step.emit(refuse(request, {
      error: `Cannot set permission mode: must be one of ${MODES.join(", ")}`,
      ...errorCode(step.state, "invalid_mode"),
    }));
    return;
  }
  if (mode === "bypassPermissions" && !caller?.mayBypass) {
    step.emit(refuse(request, {
      error: "Cannot set permission mode to bypassPermissions because the session was not " +
        "launched with --dangerously-skip-permissions",
      ...errorCode(step.state, "bypass_not_launched"),
    }));
    return;
  }
  const inForce = changes?.permissionMode ?? caller?.permissionMode;
  if (mode !== inForce || hasBegun(step.state)) changeNextChild(step, { permissionMode: mode });
  step.emit(respond(request, { response: { mode } }), { type: "mode", mode });
}

/** The mode with a name. "manual" is another name of "default". */
function modeNamed(name: unknown): string | undefined {
  return name === "manual" ? "default" : MODES.find((mode) => mode === name);
}

/** Applies settings, which may name a model, from the next message on. */
export function onFlagSettings(step: ControlStep, request: ControlRequest): void {
  const { settings } = request.body;
  if (!isJsonObject(settings)) {
    const got = Array.isArray(settings)
      ? "an array"
      : settings === undefined || settings === null
      ? `${settings}`
      : typeof settings;
    const error = `apply_flag_settings requires \`settings\` to be an object, got ${got}`;
    step.emit(refuse(request, { error }));
    return;
  }
  const error = flagSettingsError(step.state, settings);
  if (error !== undefined) {
    step.emit(refuse(request, { error }));
    return;
  }
  const { model } = settings;
  changeNextChild(step, {
    flagSettings: settings,
    ...(mayBeModel(model) || model === null ? { model } : {}),
  });
  if (typeof model === "string" && hasBegun(step.state)) step.emit({ type: "model", model });
  step.emit(respond(request));
}

/** Why settings cannot be applied; undefined if they can. */
function flagSettingsError(
  { changes, version = "" }: SessionState,
  settings: JsonObject,
): string | undefined {
  const invalid = invalidKeys(settings, version);
  if (invalid.length > 0) {
    return "apply_flag_settings: nothing of this was applied, and earlier settings stay. " +
      `Claude Code does not take the values of: ${invalid.join(", ")}`;
  }
  const all = { ...changes?.flagSettings, ...settings };
  if (JSON.stringify(all).length > MOST_SETTINGS) {
    return `Cannot apply settings: they have more than ${MOST_SETTINGS} characters`;
  }
  if (settings["disableAllHooks"] === true) {
    return 'claude-print cannot honour "disableAllHooks": hooks tell when a turn ends';
  }
  const { permissions } = settings;
  const { defaultMode = "default" } = isJsonObject(permissions) ? permissions : {};
  return modeNamed(defaultMode) === undefined
    ? `Cannot apply settings: "defaultMode" must be one of ${MODES.join(", ")}`
    : undefined;
}

/** The keys whose values Claude Code rejects. Null removes a key, so it is not checked. */
function invalidKeys(settings: JsonObject, version: string): readonly string[] {
  const set = Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== null));
  return [...new Set(settingsFaults(set, version).map(({ path }) => path.split(".", 1)[0] ?? ""))];
}

/** The refusal of a request to write settings, if they belong to a file of the user. */
export function settingsFileRefusal(request: ControlRequest): Effect | undefined {
  return request.body["source"] === "userSettings"
    ? refuse(request, {
      error: "claude-print never writes settings of the user's own; apply_flag_settings has the " +
        "same settings for the session",
    })
    : undefined;
}
