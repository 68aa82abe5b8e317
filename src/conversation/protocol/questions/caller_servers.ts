import { isJsonObject } from "../../../json_object.ts";
import type { Effect } from "../../control/effect.ts";
import type { SessionState } from "../../control/session_state.ts";
import type { Question, WaitingMessage } from "./question.ts";

/** A message of the child to an MCP server of the caller. */
type ServerQuestion = Extract<Question, { readonly kind: "server" }>;

/** Builds the question that stays open until the server answers. */
export function buildServerQuestion(
  { server, message: { id, method } }: WaitingMessage,
): ServerQuestion {
  return { kind: "server", server, method, ...(id === undefined ? {} : { rpcId: id }) };
}

/** Records the name, the version and the tools that an MCP server of the caller reports. */
export function recordServerReport(
  state: SessionState,
  { server, method }: ServerQuestion,
  response: unknown,
): SessionState {
  const answer = isJsonObject(response) ? response["mcp_response"] : undefined;
  const result = isJsonObject(answer) && isJsonObject(answer["result"]) ? answer["result"] : {};
  const { serverInfo, tools } = result;
  const report = method === "initialize"
    ? { serverInfo }
    : method === "tools/list" && Array.isArray(tools)
    ? { tools: tools.filter(isJsonObject) }
    : undefined;
  if (report === undefined) return state;
  const servers = new Map([...state.callerServers, [server, {
    ...state.callerServers.get(server),
    ...report,
  }]]);
  return { ...state, callerServers: servers };
}

/** Records that the server has failed to initialize. */
export function recordServerFailure(
  state: SessionState,
  { server, method }: Pick<ServerQuestion, "server" | "method">,
): SessionState {
  return method === "initialize"
    ? { ...state, callerServers: new Map([...state.callerServers, [server, { failed: true }]]) }
    : state;
}

/** Records that the child has abandoned the initialization of a server. */
export function recordCancellation(
  state: SessionState,
  { server, message: { method, params } }: WaitingMessage,
): SessionState {
  if (method !== "notifications/cancelled" || !isJsonObject(params)) return state;
  const question = [...state.openQuestions.values()].find((each) =>
    each.kind === "server" && each.server === server && each.rpcId === params["requestId"]
  );
  return question?.kind === "server" ? recordServerFailure(state, question) : state;
}

/** Passes the server's answer on to the child. A notification has no answer. */
export function answerChild(
  { server, rpcId }: ServerQuestion,
  response: unknown,
): readonly Effect[] {
  const answer = isJsonObject(response) ? response["mcp_response"] : undefined;
  if (!isJsonObject(answer)) {
    return reportServerError({ server, rpcId }, "Its answer is not a message of JSON-RPC");
  }
  if (rpcId === undefined) return [];
  const message = { ...answer, id: rpcId };
  const size = new TextEncoder().encode(JSON.stringify(message)).length;
  return size < LONGEST_MESSAGE ? [{ type: "mcp-message", server, message }] : reportServerError(
    { server, rpcId },
    `The answer of the MCP server "${server}" has ${size} bytes. The limit is ` +
      `${LONGEST_MESSAGE - 1}`,
  );
}

/** The length of a line from which on Claude Code drops the server for the rest of the session (2.1.330). */
const LONGEST_MESSAGE = 16 * 1024 * 1024;

/** Answers a request of the child with an error. */
export function reportServerError(
  { server, rpcId }: Pick<ServerQuestion, "server" | "rpcId">,
  why: string,
  code = INTERNAL_ERROR,
): readonly Effect[] {
  const error = { code, message: why };
  return rpcId === undefined
    ? []
    : [{ type: "mcp-message", server, message: { jsonrpc: "2.0", id: rpcId, error } }];
}

/** Answers that the server does not know the method. */
export function reportUnknownMethod(question: ServerQuestion): readonly Effect[] {
  return reportServerError(question, "Method not found", METHOD_NOT_FOUND);
}

/** Error codes of JSON-RPC. */
const INTERNAL_ERROR = -32603;
const METHOD_NOT_FOUND = -32601;

/** The method by which 2.1.330 searches for a newer protocol. `claude -p` does not pass it on to the caller. */
export const PROBE = "server/discover";

/** The error after the caller has disconnected. */
export const SERVER_GONE = "The caller of its server has gone";
