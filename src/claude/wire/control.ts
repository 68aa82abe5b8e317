import { isJsonObject, type JsonObject } from "../../json_object.ts";

/** A control request of the caller, as the Agent SDKs send it. */
export interface ControlRequest extends RequestId {
  /** The name of the request, such as `interrupt`. */
  readonly subtype: string;
  /** The other fields of the request, not validated. */
  readonly body: JsonObject;
  /** Further arguments for the headless helper that answers the request. */
  readonly args?: readonly string[];
  /** True if the request adds an entry to the transcript. */
  readonly notes?: true;
  /** True for an `initialize` that this program made before the caller did. The answer is kept for the caller's own. */
  readonly ahead?: true;
  /** True if the caller has its answer, while later requests still wait for the effect of this one. */
  readonly isAnswered?: true;
}

/** Returns true for null, undefined, false, an empty string, and objects and arrays that contain only empty values. */
export function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === "" || value === false) return true;
  return typeof value === "object" && Object.values(value).every(isEmpty);
}

/** Returns true for the configuration of an MCP server that runs in the caller's own process. */
export function isSdkServer(config: unknown): boolean {
  return isJsonObject(config) && config["type"] === "sdk";
}

/** The caller's answer to a question. `id` is the id of the question. */
export type ControlAnswer =
  | { readonly id: string; readonly response: unknown }
  | { readonly id: string; readonly error: string };

/** A question to the caller, as the Agent SDKs expect it. */
export type CallerQuestion =
  /** Asks whether a tool may be called, and with which input. */
  | {
    /** The kind of question. */
    readonly subtype: "can_use_tool";
    /** The name of the tool, such as `Bash` or `mcp__server__tool`. */
    readonly tool_name: string;
    /** The input of the tool. */
    readonly input: unknown;
    /** The id of the call; empty if it is not known. */
    readonly tool_use_id: string;
    /** Further fields of Claude Code. */
    readonly [field: string]: unknown;
  }
  /** Sends a message to an MCP server in the caller's process, and asks for its reply. */
  | {
    /** The kind of question. */
    readonly subtype: "mcp_message";
    /** The name of the server. */
    readonly server_name: string;
    /** The JSON-RPC message. */
    readonly message: unknown;
  }
  /** Asks the user for input that an MCP server needs. */
  | {
    /** The kind of question. */
    readonly subtype: "elicitation";
    /** The name of the server. */
    readonly mcp_server_name: unknown;
    /** The server's message to the user. */
    readonly message: unknown;
    /** Further fields of Claude Code. */
    readonly [field: string]: unknown;
  }
  /** Runs a hook in the caller's process, and asks for its output. */
  | {
    /** The kind of question. */
    readonly subtype: "hook_callback";
    /** The caller's name for the hook. */
    readonly callback_id: string;
    /** The input of the hook. */
    readonly input: unknown;
    /** The id of the tool call, or an id of the event. */
    readonly tool_use_id?: string;
  };

/** The answer to a request of the caller. */
export type ControlResponse =
  | {
    /** The request succeeded. */
    readonly subtype: "success";
    /** The id of the request, as the caller sent it. */
    readonly request_id?: unknown;
    /** The result, if the request has one. */
    readonly response?: Readonly<Record<string, unknown>>;
    /** Permission requests that were sent before `initialize` and are open. Since Claude Code 2.1.330. */
    readonly pending_permission_requests?: readonly unknown[];
    /** Dialogs that were sent before `initialize` and are open. */
    readonly pending_user_dialog_requests?: readonly unknown[];
  }
  | {
    /** The request failed. */
    readonly subtype: "error";
    /** The id of the request, as the caller sent it. */
    readonly request_id?: unknown;
    /** The reason. */
    readonly error: string;
    /** The class of the reason. Since Claude Code 2.1.330. */
    readonly error_code?: string;
    /** The current model, if `set_model` failed. Since Claude Code 2.1.330. */
    readonly model?: string;
  };

/** The response to `initialize` if Claude Code's own response is not known. */
export const EMPTY_INITIALIZE_RESPONSE = {
  commands: [],
  agents: [],
  output_style: "default",
  available_output_styles: ["default"],
  models: [],
  account: {},
};

/** The id of a control request, and the `request_id` that its answer must repeat. */
export interface RequestId {
  /** The id within this program: the `request_id` if it is a string, else a text made of it. */
  readonly id: string;
  /** The `request_id` if it is not a string; without a field if the request had none. Claude Code 2.1.330 accepts both. */
  readonly given?: RequestIdField;
}

/** The `request_id` field of a request or answer. */
export interface RequestIdField {
  readonly request_id?: unknown;
}

/** Reads the id of a request or answer, which may have any type. */
export function parseRequestId({ request_id: id }: RequestIdField): RequestId {
  return typeof id === "string"
    ? { id }
    : { id: `request_id ${JSON.stringify(id)}`, given: id === undefined ? {} : { request_id: id } };
}

/** Returns the `request_id` field of the answer to a request. */
export function requestIdField({ id, given = { request_id: id } }: RequestId): RequestIdField {
  return given;
}
