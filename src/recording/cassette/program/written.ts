import { isJsonObject, type JsonObject } from "../../../json_object.ts";
import { isTooDeep } from "../../../claude/wire/json_text.ts";
import { type RequestId, requestId } from "../../../claude/wire/request_id.ts";

/** A line that the caller of a conversation writes, as far as a replay has to know it; the same for a tape and live. */
export type Written =
  /** Somebody's words; `uuid` where the caller names them. */
  | { readonly kind: "message"; readonly message: JsonObject; readonly uuid?: string }
  /** A request of the control protocol; `request` has its subtype. */
  | (RequestId & {
    readonly kind: "request";
    readonly subtype: string;
    readonly request: JsonObject;
  })
  /** The answer to a question; `response` is the whole envelope, which says whether it is one. */
  | { readonly kind: "answer"; readonly id: string; readonly response: JsonObject }
  /** What asks for nothing and is asked for by nothing. */
  | { readonly kind: "passing"; readonly type: string }
  /** Anything else: `what` says in words what it is. */
  | { readonly kind: "unknown"; readonly what: string };

/** Lines that no exchange is made of. */
const PASSING: ReadonlySet<string> = new Set([
  ...["keep_alive", "control_cancel_request", "update_environment_variables"],
]);

/**
 * Reads a line of the caller's. Never throws.
 *
 * @returns undefined for an empty line
 */
export function readWritten(line: string): Written | undefined {
  if (line.trim() === "") return undefined;
  if (isTooDeep(line)) return { kind: "unknown", what: "a line that is nested too deeply" };
  let value: unknown;
  try {
    value = JSON.parse(line.replace(/^\uFEFF/u, ""));
  } catch {
    return { kind: "unknown", what: "a line that is not JSON" };
  }
  if (!isJsonObject(value)) return { kind: "unknown", what: "a line that is no object" };
  const { type, message, uuid, request, response } = value;
  switch (type) {
    case "user":
      if (!isJsonObject(message)) return { kind: "unknown", what: "a message without any content" };
      return { kind: "message", message, ...(typeof uuid === "string" ? { uuid } : {}) };
    case "control_request":
      if (!isJsonObject(request) || typeof request["subtype"] !== "string") {
        return { kind: "unknown", what: "a control request without a subtype" };
      }
      return { kind: "request", ...requestId(value), subtype: request["subtype"], request };
    case "control_response":
      if (!isJsonObject(response) || typeof response["request_id"] !== "string") {
        return { kind: "unknown", what: "a control response to nothing" };
      }
      return { kind: "answer", id: response["request_id"], response };
    default:
      if (typeof type !== "string") return { kind: "unknown", what: "an object without a type" };
      return PASSING.has(type)
        ? { kind: "passing", type }
        : { kind: "unknown", what: `a line of type "${type}"` };
  }
}
