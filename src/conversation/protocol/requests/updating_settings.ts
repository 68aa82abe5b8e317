import type { ControlRequest } from "../../../claude/wire/control.ts";
import type { Effect } from "../../control/effect.ts";
import { refuse } from "../answering.ts";

/**
 * The request that writes settings to a file, as `/config` does: a headless Claude Code writes those of the project that
 * are its user's alone, and the next message goes to a new child, for which they hold.
 */
export const UPDATING = "update_settings";

/** Why a request does not write to a file, where it would be one of the user's own. */
export function whyNoUpdate(request: ControlRequest): Effect | undefined {
  return request.body["source"] === "userSettings"
    ? refuse(request, {
      error: "claude-print never writes settings of the user's own; apply_flag_settings has the " +
        "same settings for the session",
    })
    : undefined;
}
