import type { Entry } from "../../../claude/transcript/entry.ts";
import { asText, isJsonObject, type JsonObject } from "../../../json_object.ts";
import { announces } from "../../control/end_session.ts";
import type { HookPayload } from "../../control/input.ts";
import type { SessionState } from "../../control/session_state.ts";
import { currentPrompt } from "../../control/taken_prompts.ts";
import { isTextAnswer } from "../../../claude/transcript/special_entries.ts";
import { toolPrefix } from "../../../claude/transcript/structured_output_tool.ts";
import type { ToolCall, UnprintedLine, WaitingHook, WaitingMessage } from "./question.ts";

/** A deferred question whose subject has not been printed. */
export type Waiting = WaitingHook | WaitingMessage;

/** Whether the question is from a hook, and not a message to an MCP server. */
export function isHook(waiting: Waiting): waiting is WaitingHook {
  return "hookId" in waiting;
}

/** Keeps a line with tool calls or results until its frames are printed. */
export function deferLine(
  state: SessionState,
  entry: Entry,
  { agentId }: { readonly agentId?: string } = {},
): SessionState {
  if (state.options.caller === undefined) return state;
  if (!isAgentMessage(entry) || (agentId === undefined && !hasCallBlocks(entry))) return state;
  const line = { entry, ...(agentId === undefined ? {} : { agentId }) };
  return { ...state, unprintedLines: [...state.unprintedLines, line] };
}

/** Whether a line has tool calls or results. */
function hasCallBlocks(entry: UnprintedLine["entry"]): boolean {
  const { content } = entry.message;
  return typeof content !== "string" &&
    content.some(({ type, tool_use_id: id }) => type === "tool_use" || id !== undefined);
}

/** Whether a line is a message from or to an agent. */
function isAgentMessage(entry: Entry): entry is UnprintedLine["entry"] {
  return entry.type === "assistant" || entry.type === "user";
}

/** Records the calls and results of the kept lines as printed. */
export function recordPrintedLines(before: SessionState): SessionState {
  if (before.unprintedLines.length === 0) return before;
  return before.unprintedLines.reduce(recordCalls, { ...before, unprintedLines: [] });
}

function recordCalls(before: SessionState, { entry, agentId }: UnprintedLine): SessionState {
  const state = agentId === undefined ? before : {
    ...before,
    silentAgents: silentAfter(before.silentAgents, { agentId, isSilent: !isTextAnswer(entry) }),
  };
  if (entry.type === "assistant") {
    const made = entry.message.content.flatMap((block): readonly ToolCall[] =>
      block.type === "tool_use" && typeof block.id === "string" && typeof block.name === "string"
        ? [{
          id: block.id,
          name: block.name,
          input: block.input,
          ...(agentId === undefined ? {} : { agentId }),
        }]
        : []
    );
    return made.length === 0 ? state : {
      ...state,
      printedCalls: [...state.printedCalls.filter((call) => !isPast(call, agentId)), ...made],
    };
  }
  if (typeof entry.message.content === "string") return state;
  const returned = new Set(entry.message.content.map(({ tool_use_id: id }) => id));
  if (!state.printedCalls.some(({ id }) => returned.has(id))) return state;
  const over = readEndedSubagent(entry.toolUseResult);
  const calls = state.printedCalls.filter((call) => over === undefined || call.agentId !== over);
  return {
    ...state,
    printedCalls: calls.map((call) => returned.has(call.id) ? { ...call, returned: true } : call),
  };
}

function silentAfter(
  before: ReadonlySet<string>,
  { agentId, isSilent }: { readonly agentId: string; readonly isSilent: boolean },
): ReadonlySet<string> {
  if (before.has(agentId) === isSilent) return before;
  const after = new Set(before);
  if (isSilent) after.add(agentId);
  else after.delete(agentId);
  return after;
}

function isPast(call: ToolCall, agentId: string | undefined): boolean {
  return call.returned === true && call.agentId === agentId;
}

/**
 * Whether the frames of a question's subject are printed: a tool call, the results of several, or the last answer.
 * `claude -p` also prints them before it asks (2.1.330).
 */
export function isSubjectPrinted(state: SessionState, waiting: Waiting): boolean {
  if (!isHook(waiting)) return isCallPrinted(state, readCallId(waiting.message));
  const { payload, callback, elicits } = waiting;
  if (elicits) return hasOpenServerCall(state, payload["mcp_server_name"]);
  if (callback === undefined) return findPermissionCall(state, payload) !== undefined;
  const { tool_use_id: id, last_assistant_message: message } = payload;
  switch (callback.event) {
    case "PreToolUse":
    case "PostToolUseFailure":
      return isCallPrinted(state, id);
    case "PostToolUse":
      return isCallPrinted(state, id) &&
        isLastTextPrinted(state, readEndedSubagent(payload["tool_response"]));
    case "SubagentStart":
      return isStartPrinted(state);
    case "SubagentStop":
      return isLastTextPrinted(state, payload["agent_id"]);
    case "PermissionRequest":
      return isPermissionCallPrinted(state, payload);
    case "PostToolBatch":
      return areReturned(state, payload["tool_calls"]);
    case "Stop":
      return typeof message !== "string" || message.trim() === "" ||
        announces(message, state.answer);
    default:
      return true;
  }
}

/** Whether a call of an MCP server's tool is printed and has not returned. */
function hasOpenServerCall({ printedCalls }: SessionState, server: unknown): boolean {
  return printedCalls.some(({ name, returned }) =>
    !returned && name.startsWith(toolPrefix(asText(server)))
  );
}

/** Reads the id of the model's tool call from a message to an MCP server. */
function readCallId({ method, params }: JsonObject): unknown {
  const meta = isJsonObject(params) ? params["_meta"] : undefined;
  return method === "tools/call" && isJsonObject(meta) ? meta["claudecode/toolUseId"] : undefined;
}

/** Whether a call is printed. True without an id, because it could not be recognised. */
function isCallPrinted({ printedCalls }: SessionState, id: unknown): boolean {
  return typeof id !== "string" || printedCalls.some((call) => call.id === id);
}

/** Reads the id of the subagent that ended with a call's result. */
function readEndedSubagent(response: unknown): unknown {
  const { agentId, status } = isJsonObject(response) ? response : {};
  return status === "completed" ? agentId : undefined;
}

/** Whether the last text of a subagent is printed. */
function isLastTextPrinted({ silentAgents }: SessionState, agentId: unknown): boolean {
  return typeof agentId !== "string" || !silentAgents.has(agentId);
}

/** Tools that start or wake a subagent. */
const STARTING_TOOLS = ["Agent", "Task", "Skill", "SendMessage"];

/**
 * Whether a call that can start a subagent is printed. It may already have returned, if the subagent runs in the
 * background. A typed skill starts a subagent without a call.
 */
function isStartPrinted(state: SessionState): boolean {
  return currentPrompt(state)?.command !== undefined ||
    state.printedCalls.some(({ name }) => STARTING_TOOLS.includes(name));
}

/**
 * Whether the call that needs a permission is printed. If the caller decides, the caller must have been asked about the
 * call before its hooks are.
 */
function isPermissionCallPrinted(
  { printedCalls, options: { caller } }: SessionState,
  { tool_name: name, tool_input: input, agent_id: agentId }: HookPayload,
): boolean {
  const made = printedCalls.filter((call) => call.name === name && call.agentId === agentId);
  const text = JSON.stringify(input);
  return caller?.permissions ? made.some((call) => call.askedWith === text) : made.length > 0;
}

/** Whether results of a batch are printed: one or more, and those of all printed calls. */
function areReturned({ printedCalls }: SessionState, batch: unknown): boolean {
  if (!Array.isArray(batch)) return true;
  const ids = new Set(batch.map((call) => isJsonObject(call) ? call["tool_use_id"] : undefined));
  const known = printedCalls.filter(({ id }) => ids.has(id));
  return known.length > 0 && known.every(({ returned }) => returned);
}

/** Finds the call of a permission: the call with the same input, or else the tool's only open call. */
export function findPermissionCall(
  { printedCalls }: SessionState,
  { tool_name: name, tool_input: input, agent_id: agentId }: HookPayload,
): ToolCall | undefined {
  const open = printedCalls.filter((call) =>
    call.name === name && call.agentId === agentId && call.askedWith === undefined &&
    !call.returned
  );
  const text = JSON.stringify(input);
  return open.find((call) => JSON.stringify(call.input) === text) ??
    (open.length === 1 ? open[0] : undefined);
}
