import type { Entry } from "../../../claude/transcript/entry.ts";
import { asText, isJsonObject, type JsonObject } from "../../../json_object.ts";
import { announces } from "../../control/end_session.ts";
import type { HookPayload } from "../../control/input.ts";
import type { SessionState } from "../../control/session_state.ts";
import { currentPrompt } from "../../control/taken_prompts.ts";
import { isTextAnswer } from "../../../claude/transcript/special_entries.ts";
import { toolPrefix } from "../../../claude/transcript/structured_output_tool.ts";
import type { ToolCall, UntoldLine, WaitingHook, WaitingMessage } from "./question.ts";

/** What waits for the caller to have been told what it is about. */
export type Waiting = WaitingHook | WaitingMessage;

/** Whether it is a hook that waits. */
export function isHook(waiting: Waiting): waiting is WaitingHook {
  return "hookId" in waiting;
}

/** Keeps a line of a transcript that is of calls until its frames have been printed. */
export function withUntold(
  state: SessionState,
  entry: Entry,
  { agentId }: { readonly agentId?: string } = {},
): SessionState {
  if (state.options.caller === undefined) return state;
  if (!isSaid(entry) || (agentId === undefined && !isOfCalls(entry))) return state;
  const line = { entry, ...(agentId === undefined ? {} : { agentId }) };
  return { ...state, unprintedLines: [...state.unprintedLines, line] };
}

/** Whether a line makes calls or holds results of some: most do neither. */
function isOfCalls(entry: UntoldLine["entry"]): boolean {
  const { content } = entry.message;
  return typeof content !== "string" &&
    content.some(({ type, tool_use_id: id }) => type === "tool_use" || id !== undefined);
}

/** Whether a line is what an agent says, or is told. */
function isSaid(entry: Entry): entry is UntoldLine["entry"] {
  return entry.type === "assistant" || entry.type === "user";
}

/** Notes the calls that have been told, and those whose results have been. */
export function withTold(before: SessionState): SessionState {
  if (before.unprintedLines.length === 0) return before;
  return before.unprintedLines.reduce(withCalls, { ...before, unprintedLines: [] });
}

function withCalls(before: SessionState, { entry, agentId }: UntoldLine): SessionState {
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
  const over = subagentIn(entry.toolUseResult);
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
 * Whether the frames of what a question is about have been printed: the call of a tool, the results of several, or the
 * answer that is the last. `claude -p` asks after them too (2.1.330); of subagents it asks its hooks first.
 */
export function isTold(state: SessionState, waiting: Waiting): boolean {
  if (!isHook(waiting)) return isCallTold(state, calledBy(waiting.message));
  const { payload, callback, elicits } = waiting;
  if (elicits) return isAtWork(state, payload["mcp_server_name"]);
  if (callback === undefined) return callOf(state, payload) !== undefined;
  const { tool_use_id: id, last_assistant_message: message } = payload;
  switch (callback.event) {
    case "PreToolUse":
    case "PostToolUseFailure":
      return isCallTold(state, id);
    case "PostToolUse":
      return isCallTold(state, id) && hasSpoken(state, subagentIn(payload["tool_response"]));
    case "SubagentStart":
      return isStartable(state);
    case "SubagentStop":
      return hasSpoken(state, payload["agent_id"]);
    case "PermissionRequest":
      return isPermissionTold(state, payload);
    case "PostToolBatch":
      return areReturned(state, payload["tool_calls"]);
    case "Stop":
      return typeof message !== "string" || message.trim() === "" ||
        announces(message, state.answer);
    default:
      return true;
  }
}

/** Whether a call of a tool of an MCP server has been told that has not returned. */
function isAtWork({ printedCalls }: SessionState, server: unknown): boolean {
  return printedCalls.some(({ name, returned }) =>
    !returned && name.startsWith(toolPrefix(asText(server)))
  );
}

/** The id of the call that a message to an MCP server makes, if it makes one of the model's. */
function calledBy({ method, params }: JsonObject): unknown {
  const meta = isJsonObject(params) ? params["_meta"] : undefined;
  return method === "tools/call" && isJsonObject(meta) ? meta["claudecode/toolUseId"] : undefined;
}

/** Whether a call has been told; what has no id can be waited for by nobody. */
function isCallTold({ printedCalls }: SessionState, id: unknown): boolean {
  return typeof id !== "string" || printedCalls.some((call) => call.id === id);
}

/** The subagent that has answered a call for good. */
function subagentIn(response: unknown): unknown {
  const { agentId, status } = isJsonObject(response) ? response : {};
  return status === "completed" ? agentId : undefined;
}

/** Whether the last words of a subagent have been told, if its transcript is known to have any: they end what it does. */
function hasSpoken({ silentAgents }: SessionState, agentId: unknown): boolean {
  return typeof agentId !== "string" || !silentAgents.has(agentId);
}

/** Calls that start a subagent, or wake one. */
const STARTING = ["Agent", "Task", "Skill", "SendMessage"];

/**
 * Whether a call that starts a subagent has been told, which may have returned before that begins in the background; a
 * skill that was typed starts one without.
 */
function isStartable(state: SessionState): boolean {
  return currentPrompt(state)?.command !== undefined ||
    state.printedCalls.some(({ name }) => STARTING.includes(name));
}

/** Whether a call that needs a permission has been told; whoever decides on it is asked before its hooks are. */
function isPermissionTold(
  { printedCalls, options: { caller } }: SessionState,
  { tool_name: name, tool_input: input, agent_id: agentId }: HookPayload,
): boolean {
  const made = printedCalls.filter((call) => call.name === name && call.agentId === agentId);
  const text = JSON.stringify(input);
  return caller?.permissions ? made.some((call) => call.askedWith === text) : made.length > 0;
}

/** Whether results of calls have been told: one of them at least, and none is missing of a call that is known. */
function areReturned({ printedCalls }: SessionState, batch: unknown): boolean {
  if (!Array.isArray(batch)) return true;
  const ids = new Set(batch.map((call) => isJsonObject(call) ? call["tool_use_id"] : undefined));
  const known = printedCalls.filter(({ id }) => ids.has(id));
  return known.length > 0 && known.every(({ returned }) => returned);
}

/** The call that a permission is for: that with the same input, else the only one of the tool's. */
export function callOf(
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
