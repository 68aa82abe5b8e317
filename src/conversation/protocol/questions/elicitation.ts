import { isJsonObject, type JsonObject } from "../../../json_object.ts";
import type { CallerQuestion } from "../../../claude/wire/control.ts";
import type { HookPayload } from "../../control/input.ts";

/** The valid answers. */
const ACTIONS = ["accept", "decline", "cancel"];

/**
 * The answer if the caller cannot be asked, as in `claude -p` 2.1.330. The interactive Claude Code would show a dialog.
 */
export const NOBODY_ASKED: HookPayload = buildElicitationReply({ action: "cancel" });

/** Builds the question to the caller. */
export function buildElicitation(payload: HookPayload): CallerQuestion {
  const { mcp_server_name, message, mode, url, elicitation_id, requested_schema } = payload;
  return {
    subtype: "elicitation",
    mcp_server_name,
    message,
    ...(mode === undefined ? {} : { mode }),
    ...(url === undefined ? {} : { url }),
    ...(elicitation_id === undefined ? {} : { elicitation_id }),
    ...(requested_schema === undefined ? {} : { requested_schema }),
  };
}

/** Builds the hook's reply from the caller's answer. An invalid answer is a cancellation. */
export function readElicitationAnswer(response: unknown): HookPayload {
  const { action, content } = isJsonObject(response) ? response : {};
  if (typeof action !== "string" || !ACTIONS.includes(action)) return NOBODY_ASKED;
  return buildElicitationReply({ action, ...(isJsonObject(content) ? { content } : {}) });
}

function buildElicitationReply(decision: JsonObject): HookPayload {
  return { hookSpecificOutput: { hookEventName: "Elicitation", ...decision } };
}
