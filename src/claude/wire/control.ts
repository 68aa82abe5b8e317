import { isJsonObject, type JsonObject } from "../../json_object.ts";

/** A request of the caller in the control protocol of the Agent SDKs. */
export interface ControlRequest extends RequestId {
  /** Such as `interrupt`. */
  readonly subtype: string;
  /** Its other fields, of which nothing is certain. */
  readonly body: JsonObject;
  /** Further arguments of who is started to answer it. */
  readonly args?: readonly string[];
  /** Whether something is noted in the session because of it. */
  readonly notes?: true;
  /** Whether nobody has asked yet: the answer is kept for who will. */
  readonly ahead?: true;
  /** Whether the caller has its answer, and something is to come that others wait for. */
  readonly isAnswered?: true;
}

/** Whether the value of a field asks for nothing: it is none, or holds none. */
export function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === "" || value === false) return true;
  return typeof value === "object" && Object.values(value).every(isEmpty);
}

/** Whether a configuration is that of a server in the caller's own process. */
export function isCallers(config: unknown): boolean {
  return isJsonObject(config) && config["type"] === "sdk";
}

/** What the caller answers to a question; `id` is that of the question. */
export type ControlAnswer =
  | { readonly id: string; readonly response: unknown }
  | { readonly id: string; readonly error: string };

/** What the caller is asked, as the Agent SDKs expect it. */
export type CallerQuestion =
  /** Whether a tool may be called, and with what. */
  | {
    /** What kind of question it is. */
    readonly subtype: "can_use_tool";
    /** The tool, such as `Bash` or `mcp__server__tool`. */
    readonly tool_name: string;
    /** What it is to be called with. */
    readonly input: unknown;
    /** The id of the call; empty where it is not known. */
    readonly tool_use_id: string;
    /** What else is said of it. */
    readonly [field: string]: unknown;
  }
  /** What an MCP server of the caller's says to a message. */
  | {
    /** What kind of question it is. */
    readonly subtype: "mcp_message";
    /** The server. */
    readonly server_name: string;
    /** The message, of JSON-RPC. */
    readonly message: unknown;
  }
  /** What the user says to an MCP server that asks. */
  | {
    /** What kind of question it is. */
    readonly subtype: "elicitation";
    /** The server. */
    readonly mcp_server_name: unknown;
    /** What it asks. */
    readonly message: unknown;
    /** What else is said of it. */
    readonly [field: string]: unknown;
  }
  /** What a hook of the caller's says to an event. */
  | {
    /** What kind of question it is. */
    readonly subtype: "hook_callback";
    /** The caller's name for the hook. */
    readonly callback_id: string;
    /** What Claude Code gives a hook. */
    readonly input: unknown;
    /** The id of the call that it is about, or one of the event's own. */
    readonly tool_use_id?: string;
  };

/** The answer to a request of the caller. */
export type ControlResponse =
  | {
    /** It was carried out. */
    readonly subtype: "success";
    /** The id that the caller gave the request, whatever it is. */
    readonly request_id?: unknown;
    /** What came of it, where something did. */
    readonly response?: Readonly<Record<string, unknown>>;
    /** What the caller has yet to answer, where it was asked before it initialized; since 2.1.330. */
    readonly pending_permission_requests?: readonly unknown[];
    /** The same of questions on the screen. */
    readonly pending_user_dialog_requests?: readonly unknown[];
  }
  | {
    /** It was not carried out. */
    readonly subtype: "error";
    /** The id that the caller gave the request, whatever it is. */
    readonly request_id?: unknown;
    /** Why not. */
    readonly error: string;
    /** What sort of reason that is; since 2.1.330. */
    readonly error_code?: string;
    /** The model in force, where another one cannot be chosen; since 2.1.330. */
    readonly model?: string;
  };

/** What an SDK is told when it begins, where nobody knows what Claude Code would say of itself. */
export const UNINITIALIZED = {
  commands: [],
  agents: [],
  output_style: "default",
  available_output_styles: ["default"],
  models: [],
  account: {},
};

/** By what a request of the control protocol is known, and what the answer to it has to name. */
export interface RequestId {
  /** By what it is known here: the id that it was given, if that is text. */
  readonly id: string;
  /** Where it is none: the id that it was given, or none if it was given none (2.1.330). */
  readonly given?: GivenId;
}

/** The field of a request, or of the answer to one, that has its id. */
export interface GivenId {
  readonly request_id?: unknown;
}

/** By what a request is known, or one that is answered. */
export function requestId({ request_id: id }: GivenId): RequestId {
  return typeof id === "string"
    ? { id }
    : { id: `request_id ${JSON.stringify(id)}`, given: id === undefined ? {} : { request_id: id } };
}

/** What the answer to a request has to name. */
export function givenId({ id, given = { request_id: id } }: RequestId): GivenId {
  return given;
}
