import { isJsonObject } from "../../../json_object.ts";
import type { Effect } from "../../control/effect.ts";
import type { SessionState } from "../../control/session_state.ts";
import type { Question, WaitingMessage } from "./question.ts";

/** What the child says to an MCP server of the caller's. */
type ServerQuestion = Extract<Question, { readonly kind: "server" }>;

/** What the child says to a server, as it is remembered until that answers. */
export function serverQuestion(
  { server, message: { id, method } }: WaitingMessage,
): ServerQuestion {
  return { kind: "server", server, method, ...(id === undefined ? {} : { rpcId: id }) };
}

/** Notes what the caller's server says of itself. */
export function noted(
  state: SessionState,
  { server, method }: ServerQuestion,
  response: unknown,
): SessionState {
  const answer = isJsonObject(response) ? response["mcp_response"] : undefined;
  const result = isJsonObject(answer) && isJsonObject(answer["result"]) ? answer["result"] : {};
  const { serverInfo, tools } = result;
  const told = method === "initialize"
    ? { serverInfo }
    : method === "tools/list" && Array.isArray(tools)
    ? { tools: tools.filter(isJsonObject) }
    : undefined;
  if (told === undefined) return state;
  const servers = new Map([...state.callerServers, [server, {
    ...state.callerServers.get(server),
    ...told,
  }]]);
  return { ...state, callerServers: servers };
}

/** Notes that the caller's server has failed, where it was asked what it is. */
export function withFailure(
  state: SessionState,
  { server, method }: Pick<ServerQuestion, "server" | "method">,
): SessionState {
  return method === "initialize"
    ? { ...state, callerServers: new Map([...state.callerServers, [server, { failed: true }]]) }
    : state;
}

/** Notes that the child does not wait any longer for what a server of the caller's is. */
export function withCancelled(
  state: SessionState,
  { server, message: { method, params } }: WaitingMessage,
): SessionState {
  if (method !== "notifications/cancelled" || !isJsonObject(params)) return state;
  const question = [...state.openQuestions.values()].find((each) =>
    each.kind === "server" && each.server === server && each.rpcId === params["requestId"]
  );
  return question?.kind === "server" ? withFailure(state, question) : state;
}

/** What the caller's server says to the child; a message that asks nothing has no answer. */
export function serverAnswer(
  { server, rpcId }: ServerQuestion,
  response: unknown,
): readonly Effect[] {
  const answer = isJsonObject(response) ? response["mcp_response"] : undefined;
  if (!isJsonObject(answer)) {
    return serverError({ server, rpcId }, "Its answer is no message of JSON-RPC");
  }
  if (rpcId === undefined) return [];
  const message = { ...answer, id: rpcId };
  const size = new TextEncoder().encode(JSON.stringify(message)).length;
  return size < LONGEST_MESSAGE ? [{ type: "mcp-message", server, message }] : serverError(
    { server, rpcId },
    `The answer of the MCP server "${server}" has ${size} bytes, and claude-print can hand on ` +
      `fewer than ${LONGEST_MESSAGE}`,
  );
}

/** At a longer line Claude Code drops the server for the rest of the session (2.1.330). */
const LONGEST_MESSAGE = 16 * 1024 * 1024;

/** Tells the child, where it asks something, why there is no answer. */
export function serverError(
  { server, rpcId }: Pick<ServerQuestion, "server" | "rpcId">,
  why: string,
  code = INTERNAL_ERROR,
): readonly Effect[] {
  const error = { code, message: why };
  return rpcId === undefined
    ? []
    : [{ type: "mcp-message", server, message: { jsonrpc: "2.0", id: rpcId, error } }];
}

/** Tells the child that a server does not know what it is asked. */
export function unknownMethod(question: ServerQuestion): readonly Effect[] {
  return serverError(question, "Method not found", METHOD_NOT_FOUND);
}

/** As JSON-RPC numbers them. */
const INTERNAL_ERROR = -32603;
const METHOD_NOT_FOUND = -32601;

/** By which 2.1.330 looks for a newer protocol of a server that is a program; `claude -p` asks no caller for it. */
export const PROBE = "server/discover";

/** Why a server does not answer any more. */
export const SERVER_GONE = "The caller of its server has gone";
