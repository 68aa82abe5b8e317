import { isJsonObject, type JsonObject } from "../../../json_object.ts";
import { settingsFaults } from "../../../claude/settings/settings_faults.ts";
import type { ControlRequest } from "../../../claude/wire/control.ts";
import type { SessionState } from "../../control/session_state.ts";
import { act, type Step } from "../../control/step.ts";
import { changed, hasBegun, refuse, respond } from "../answering.ts";
import { modeNamed, MODES } from "./choosing_mode.ts";
import { mayBeModel } from "./choosing_model.ts";

/** Most characters of settings, as JSON: Claude Code ends at a file of more than 2 MiB, in which are others too (2.1.330). */
const MOST_SETTINGS = 500_000;

/** Other settings from the next message on, and with them another model. */
export function onFlagSettings(state: SessionState, request: ControlRequest): Step {
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
