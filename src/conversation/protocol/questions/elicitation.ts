import { isJsonObject, type JsonObject } from "../../../json_object.ts";
import type { CallerQuestion } from "../../../claude/wire/control.ts";
import type { HookPayload } from "../../control/input.ts";

/** What may become of a question of an MCP server to the user. */
const ACTIONS = ["accept", "decline", "cancel"];

/** The answer where nobody can be asked, as `claude -p` gives it (2.1.330): on the screen it would be a dialog. */
export const NOBODY_ASKED: HookPayload = answered({ action: "cancel" });

/** What a caller is asked that an MCP server wants to know of the user. */
export function elicitation(payload: HookPayload): CallerQuestion {
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

/** What the child is told of the caller's answer; one that cannot be understood is none. */
export function elicited(response: unknown): HookPayload {
  const { action, content } = isJsonObject(response) ? response : {};
  if (typeof action !== "string" || !ACTIONS.includes(action)) return NOBODY_ASKED;
  return answered({ action, ...(isJsonObject(content) ? { content } : {}) });
}

function answered(decision: JsonObject): HookPayload {
  return { hookSpecificOutput: { hookEventName: "Elicitation", ...decision } };
}
