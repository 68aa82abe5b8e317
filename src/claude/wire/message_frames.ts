import type { AnyFrame } from "./any_frame.ts";

/** One content block of a message, as in the Messages API. Its fields depend on its type. */
export interface ContentBlock {
  /** `text`, `thinking`, `tool_use`, `tool_result`, `image`, or another type of the API. */
  readonly type: string;
  /** The text of a `text` block. */
  readonly text?: string;
  /** The text of a `thinking` block. The API may leave it empty. */
  readonly thinking?: string;
  /** The id of the call, in a `tool_use` block. */
  readonly id?: string;
  /** The name of the tool in a `tool_use` block, such as `Bash` or `mcp__server__tool`. */
  readonly name?: string;
  /** The input of the tool, in a `tool_use` block. */
  readonly input?: unknown;
  /** The id of the call, in a `tool_result` block. */
  readonly tool_use_id?: string;
  /** The output of the tool in a `tool_result` block: a text or blocks. */
  readonly content?: unknown;
  /** True in a `tool_result` block if the tool failed or was denied. */
  readonly is_error?: boolean;
  /** Further fields of the API. */
  readonly [field: string]: unknown;
}

/** A message of the model, as the API returns it. Claude Code prints one frame for each of its blocks. */
export interface AssistantMessage {
  /** The API's id of the message. All frames of one message have the same. */
  readonly id: string;
  /** The model that answered, or `<synthetic>` if Claude Code wrote the message, as for an API error. */
  readonly model: string;
  /** A list with one block. */
  readonly content: readonly ContentBlock[];
  /** The tokens of the request. The number of output tokens is final here; `claude -p` prints a preliminary one. */
  readonly usage?: unknown;
  /** Further fields of the API. */
  readonly [field: string]: unknown;
}

/** A message to the model. */
export interface UserMessage {
  /** Always `user`. */
  readonly role: "user";
  /** A tool result or text blocks. A string if a user typed a command. */
  readonly content: string | readonly ContentBlock[];
}

/** One block of an answer of the model. */
export interface AssistantFrame extends AnyFrame {
  /** The type of the frame. */
  readonly type: "assistant";
  /** The message with this block alone. */
  readonly message: AssistantMessage;
  /** The id of the call that started the subagent which wrote the block; null for the main conversation. */
  readonly parent_tool_use_id: string | null;
  /** The id of the session. */
  readonly session_id: string;
  /** The class of an API error, such as `rate_limit`, if the message reports one. */
  readonly error?: string;
}

/** A tool result, or a message that Claude Code sent to the model in the role of the user. */
export interface UserFrame extends AnyFrame {
  /** The type of the frame. */
  readonly type: "user";
  /** The message. */
  readonly message: UserMessage;
  /** The id of the call that started the subagent which receives the message; null for the main conversation. */
  readonly parent_tool_use_id: string | null;
  /** The id of the session. */
  readonly session_id: string;
  /** The tool result in the tool's own form, such as `{ stdout, stderr, interrupted }` for Bash. */
  readonly tool_use_result?: unknown;
  /** True if Claude Code wrote the message. */
  readonly isSynthetic?: boolean;
  /** True for the output of a slash command. */
  readonly isReplay?: boolean;
}

/** An event of the API's stream while an answer is generated. Printed with `--include-partial-messages`. */
export interface StreamEventFrame extends AnyFrame {
  /** The type of the frame. */
  readonly type: "stream_event";
  /** The event: `message_start`, `content_block_start`, `content_block_delta`, … */
  readonly event: StreamEvent;
  /** Always null: answers of subagents are not streamed. */
  readonly parent_tool_use_id: string | null;
  /** The id of the session. */
  readonly session_id: string;
  /** The API's id of the message, from its `message_start`. Since Claude Code 2.1.330. */
  readonly api_message_id?: string;
}

/** An event of the API's stream. */
export interface StreamEvent {
  /** `message_start`, `content_block_start`, `content_block_delta`, `content_block_stop`, `message_delta`, `message_stop`. */
  readonly type: string;
  /** The index of the block, in events about a block. */
  readonly index?: number;
  /** In `content_block_delta` the new content, such as `{ type: "text_delta", text }`; in `message_delta` the stop reason. */
  readonly delta?: Readonly<Record<string, unknown>>;
  /** Further fields of the API. */
  readonly [field: string]: unknown;
}
