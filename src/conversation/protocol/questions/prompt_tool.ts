import { asText, isJsonObject, type JsonObject } from "../../../json_object.ts";
import type { Effect } from "../../control/effect.ts";
import type { HookPayload } from "../../control/input.ts";
import type { SessionState } from "../../control/session_state.ts";
import type { ControlAnswer } from "../../../claude/wire/control.ts";
import { type Decision, invalidResult, readDecision, toolFailure } from "./permission.ts";
import type { PromptTool } from "../caller_options.ts";
import type { Question, ToolCall } from "./question.ts";

type Permission = Extract<Question, { readonly kind: "permission" }>;

/** Records the tools that the prompt tool's server has listed to the child. */
export function recordPromptTools(state: SessionState, { result }: JsonObject): SessionState {
  const tools = isJsonObject(result) ? result["tools"] : undefined;
  if (!Array.isArray(tools)) return state;
  const names = tools.filter(isJsonObject).map(({ name }) => asText(name));
  return { ...state, promptTools: [...new Set([...state.promptTools, ...names])] };
}

/** Whether a program's tool is asked for permissions instead of the caller. */
export function isAskedElsewhere({ options: { caller } }: Pick<SessionState, "options">): boolean {
  return caller?.promptTool !== undefined && caller.promptTool.ownServer === undefined;
}

/** The tools that the prompt tool's server has listed, without the prompt tool. */
export function listOtherTools(
  { promptTools, callerServers }: SessionState,
  { ownServer }: PromptTool,
): readonly string[] {
  return ownServer === undefined
    ? promptTools
    : (callerServers.get(ownServer)?.tools ?? []).map(({ name }) => asText(name));
}

/**
 * The call of the tool that decides on a permission. Its server or the caller answers the call. Absent without the
 * tool.
 */
export function buildPromptCall(
  state: SessionState,
  { promptTool, id, payload, call }: {
    readonly promptTool: PromptTool;
    readonly id: string;
    readonly payload: HookPayload;
    readonly call: ToolCall | undefined;
  },
): Effect | undefined {
  const { server, ownServer, tool } = promptTool;
  if (!listOtherTools(state, promptTool).includes(tool)) return undefined;
  const { tool_name, tool_input: input } = payload;
  const callId = call?.id ?? "";
  const message = {
    jsonrpc: "2.0",
    id,
    method: "tools/call",
    params: {
      name: tool,
      arguments: { tool_name, input, tool_use_id: callId },
      _meta: { "claudecode/toolUseId": callId },
    },
  };
  if (ownServer !== undefined) {
    const request = { subtype: "mcp_message", server_name: ownServer, message } as const;
    return { type: "frame", frame: { type: "control_request", request_id: id, request } };
  }
  return server === undefined ? undefined : { type: "mcp-message", server, message };
}

/** Reads the decision from the caller's answer, if the prompt tool belongs to the caller's own server. */
export function readOwnPromptDecision(
  given: ControlAnswer,
  question: Permission,
): Decision {
  const { mcp_response: answer } = "response" in given && isJsonObject(given.response)
    ? given.response
    : {};
  if (isJsonObject(answer)) return readPromptDecision(answer, question);
  const why = "error" in given ? given.error : "Its answer is no message of JSON-RPC";
  return toolFailure(question.tool, why);
}

/** Reads the decision from the tool's answer, whose text has the form of a caller's decision. */
export function readPromptDecision(
  { result, error }: JsonObject,
  question: Permission,
): Decision {
  const { tool } = question;
  if (isJsonObject(error)) return toolFailure(tool, asText(error["message"]));
  const [first] = isJsonObject(result) && Array.isArray(result["content"]) ? result["content"] : [];
  const text = isJsonObject(first) && typeof first["text"] === "string" ? first["text"] : "";
  if (isJsonObject(result) && result["isError"] === true) return toolFailure(tool, text);
  const decision = readDecision(parsed(text), question);
  return decision.outcome === "failed" ? invalidResult("permission prompt tool") : decision;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
