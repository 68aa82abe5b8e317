import type { ControlRequest } from "../../../claude/wire/control.ts";
import type { SessionState } from "../../control/session_state.ts";
import { act, type Step } from "../../control/step.ts";
import { changed, errorCode, hasBegun, refuse, respond } from "../answering.ts";

/** The permission modes that a caller may choose. */
export const MODES = ["acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan"];

/** The mode of a name, if it is one of a mode: "manual" is another one for "default". */
export function modeNamed(name: unknown): string | undefined {
  return name === "manual" ? "default" : MODES.find((mode) => mode === name);
}

/**
 * Another permission mode from the next message on. Before the first turn, the mode in force is the one in which the child
 * was started: to choose that again changes nothing.
 */
export function onSetMode(state: SessionState, request: ControlRequest): Step {
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
