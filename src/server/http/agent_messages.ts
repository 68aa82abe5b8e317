import { isJsonObject, jsonObjects } from "../../json_object.ts";
import type { AnyFrame } from "../../claude/wire/any_frame.ts";
import type { ContentBlock } from "../../claude/wire/message_frames.ts";

/** A tool call of a message. */
interface AgentTool {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  /** `running` until its result arrives. */
  readonly status: "running" | "done" | "failed";
}

/** How the turn of a message ended. */
interface AgentTurn {
  /** `success`, or the kind of the failure. */
  readonly subtype: string;
  readonly is_error: boolean;
  readonly num_turns?: number;
  readonly duration_ms?: number;
  /** The cost of the whole conversation so far, in US dollars. */
  readonly total_cost_usd?: number;
  readonly usage?: unknown;
}

/** The facts for which agentapi has no field. */
interface AgentExtra {
  readonly session_id?: string;
  readonly tools?: readonly AgentTool[];
  /** The turn's end; absent while the turn runs. */
  readonly turn?: AgentTurn;
}

/** A message in the format of agentapi. */
export interface AgentMessage {
  /** The message's index in the conversation, from 0. */
  readonly id: number;
  readonly role: "user" | "agent";
  readonly content: string;
  /** The time of the message's first frame, in the format of RFC 3339. */
  readonly time: string;
  readonly claude_print?: AgentExtra;
}

/** A frame and its time, in the format of RFC 3339. Messages of the caller have to be replayed as frames. */
export interface TimedFrame {
  readonly frame: AnyFrame;
  readonly time: string;
}

/** The messages after a frame, and those of them that are new or changed. */
interface AgentStep {
  readonly messages: readonly AgentMessage[];
  readonly changed: readonly AgentMessage[];
}

/**
 * Applies a frame to the messages. The texts, tool calls and result of a turn are one message of the agent, which grows
 * until the turn ends.
 */
export function advanceMessages(
  messages: readonly AgentMessage[],
  { frame, time }: TimedFrame,
): AgentStep {
  // Frames of subagents belong to a tool call.
  if (typeof frame["parent_tool_use_id"] === "string") return { messages, changed: [] };
  switch (frame.type) {
    case "assistant": {
      const blocks = blocksOf(frame);
      const text = blocks.flatMap((block) => block.type === "text" ? [block.text ?? ""] : [])
        .join("\n\n");
      const tools = blocks.flatMap(toolCallOf);
      if (text === "" && tools.length === 0) return { messages, changed: [] };
      return extendAgentMessage(messages, { frame, time, text, tools });
    }
    case "user": {
      const content = sentText(frame);
      return content === undefined
        ? applyToolResults(messages, blocksOf(frame))
        : appendMessage(messages, { role: "user", content, time });
    }
    case "result": {
      const hasMessage = isUnfinished(messages.at(-1));
      const text = hasMessage ? "" : resultText(frame);
      return extendAgentMessage(messages, { frame, time, text, tools: [], turn: turnOf(frame) });
    }
    default:
      return { messages, changed: [] };
  }
}

function appendMessage(
  messages: readonly AgentMessage[],
  message: Omit<AgentMessage, "id">,
): AgentStep {
  const added = { id: messages.length, ...message };
  return { messages: [...messages, added], changed: [added] };
}

/** Whether a message belongs to the agent and its turn has not ended. */
function isUnfinished(message: AgentMessage | undefined): message is AgentMessage {
  return message?.role === "agent" && message.claude_print?.turn === undefined;
}

function extendAgentMessage(
  messages: readonly AgentMessage[],
  { frame, time, text, tools, turn }: {
    readonly frame: AnyFrame;
    readonly time: string;
    readonly text: string;
    readonly tools: readonly AgentTool[];
    readonly turn?: AgentTurn;
  },
): AgentStep {
  const last = messages.at(-1);
  const before = isUnfinished(last) ? last : undefined;
  const all = [...before?.claude_print?.tools ?? [], ...tools];
  const session = frame["session_id"];
  const extra: AgentExtra = {
    ...(typeof session === "string" ? { session_id: session } : {}),
    ...(all.length === 0 ? {} : { tools: all }),
    ...(turn === undefined ? {} : { turn }),
  };
  const content = [before?.content ?? "", text].filter((part) => part !== "").join("\n\n");
  if (before === undefined) {
    return appendMessage(messages, { role: "agent", content, time, claude_print: extra });
  }
  const changed: AgentMessage = { ...before, content, claude_print: extra };
  return { messages: messages.with(-1, changed), changed: [changed] };
}

function applyToolResults(
  messages: readonly AgentMessage[],
  blocks: readonly ContentBlock[],
): AgentStep {
  const results = new Map(
    blocks.flatMap((block) =>
      block.type === "tool_result" ? [[block.tool_use_id, block.is_error === true] as const] : []
    ),
  );
  // A message of the user may have arrived after it.
  const at = messages.findLastIndex(({ role }) => role === "agent");
  const message = messages[at];
  const { tools = [], ...extra } = message?.claude_print ?? {};
  if (message === undefined || !tools.some(({ id }) => results.has(id))) {
    return { messages, changed: [] };
  }
  const updated = tools.map((tool): AgentTool => {
    const hasFailed = results.get(tool.id);
    if (hasFailed === undefined) return tool;
    return { ...tool, status: hasFailed ? "failed" : "done" };
  });
  const changed: AgentMessage = { ...message, claude_print: { ...extra, tools: updated } };
  return { messages: messages.with(at, changed), changed: [changed] };
}

function blocksOf({ message }: AnyFrame): readonly ContentBlock[] {
  return isJsonObject(message) ? jsonObjects(message["content"]) as readonly ContentBlock[] : [];
}

/** The text of a frame that replays a message of the caller; undefined for other frames. */
function sentText(frame: AnyFrame): string | undefined {
  if (frame["isReplay"] !== true) return undefined;
  const { content } = frame["message"] as { readonly content?: unknown };
  const text = typeof content === "string"
    ? content
    : blocksOf(frame).flatMap((block) => block.type === "text" ? [block.text ?? ""] : []).join(
      "\n",
    );
  // The output of a local slash command is replayed in the same way.
  return text.startsWith("<local-command-") ? undefined : text;
}

function toolCallOf(block: ContentBlock): readonly AgentTool[] {
  const { type, id, name, input } = block;
  if (type !== "tool_use" || id === undefined || name === undefined) return [];
  return [{ id, name, input, status: "running" }];
}

function resultText(frame: AnyFrame): string {
  const { result, errors } = frame;
  if (typeof result === "string" && result !== "") return result;
  return Array.isArray(errors) ? errors.join("\n") : "";
}

function turnOf(frame: AnyFrame): AgentTurn {
  const { subtype, is_error, num_turns, duration_ms, total_cost_usd, usage } = frame;
  return {
    subtype: `${subtype}`,
    is_error: is_error === true,
    ...(typeof num_turns === "number" ? { num_turns } : {}),
    ...(typeof duration_ms === "number" ? { duration_ms } : {}),
    ...(typeof total_cost_usd === "number" ? { total_cost_usd } : {}),
    ...(usage === undefined ? {} : { usage }),
  };
}
