import type { AnyFrame } from "./any_frame.ts";

/**
 * One block of a message. Which fields it has depends on its type: `text`, `thinking`, `tool_use`, `tool_result`, and
 * others of the API.
 */
export interface ContentBlock {
  /** `text`, `thinking`, `tool_use`, `tool_result`, … */
  readonly type: string;
  /** Of `text`: the words. */
  readonly text?: string;
  /** Of `thinking`: the thoughts, which the API may leave empty. */
  readonly thinking?: string;
  /** Of `tool_use`: the id of the call. */
  readonly id?: string;
  /** Of `tool_use`: the tool, such as `Bash` or `mcp__server__tool`. */
  readonly name?: string;
  /** Of `tool_use`: what the tool is called with. */
  readonly input?: unknown;
  /** Of `tool_result`: the id of its call. */
  readonly tool_use_id?: string;
  /** Of `tool_result`: a text or blocks. */
  readonly content?: unknown;
  /** Of `tool_result`: whether the tool failed or was refused. */
  readonly is_error?: boolean;
  /** What else the API gives. */
  readonly [field: string]: unknown;
}

/** What the model said, as the API gives it; each frame has one of its blocks. */
export interface AssistantMessage {
  /** The same for all blocks of an answer. */
  readonly id: string;
  /** The model that answered; `<synthetic>` for what Claude Code itself says in its place, such as an API error. */
  readonly model: string;
  /** One block. */
  readonly content: readonly ContentBlock[];
  /** Tokens of the request; those of the output are final, where `claude -p` gives the first count. */
  readonly usage?: unknown;
  /** What else the API gives. */
  readonly [field: string]: unknown;
}

/** What the model is told. */
export interface UserMessage {
  /** Always the user. */
  readonly role: "user";
  /** A tool's result, or texts; one text alone where somebody typed a command. */
  readonly content: string | readonly ContentBlock[];
}

/** One block of an answer. */
export interface AssistantFrame extends AnyFrame {
  /** What kind of frame it is. */
  readonly type: "assistant";
  /** The block, and what the API says of its answer. */
  readonly message: AssistantMessage;
  /** The call that started the subagent whose words these are; null for the session's own. */
  readonly parent_tool_use_id: string | null;
  /** The session. */
  readonly session_id: string;
  /** A class such as `rate_limit`, where an API error stands in the place of an answer. */
  readonly error?: string;
}

/** A tool's result, or what Claude Code told the model in the user's name. */
export interface UserFrame extends AnyFrame {
  /** What kind of frame it is. */
  readonly type: "user";
  /** What the model is told. */
  readonly message: UserMessage;
  /** The call that started the subagent that is told; null for the session itself. */
  readonly parent_tool_use_id: string | null;
  /** The session. */
  readonly session_id: string;
  /** A tool's result in the tool's own form, such as `{ stdout, stderr, interrupted }` of Bash. */
  readonly tool_use_result?: unknown;
  /** Whether Claude Code itself wrote it. */
  readonly isSynthetic?: boolean;
  /** Of what a typed command gives rise to: whether it is the command's output. */
  readonly isReplay?: boolean;
}

/** A piece of an answer as it is written, as the API streams it; with `--include-partial-messages`. */
export interface StreamEventFrame extends AnyFrame {
  /** What kind of frame it is. */
  readonly type: "stream_event";
  /** The event: `message_start`, `content_block_start`, `content_block_delta`, … */
  readonly event: StreamEvent;
  /** Always null: nothing is streamed of subagents. */
  readonly parent_tool_use_id: string | null;
  /** The session. */
  readonly session_id: string;
  /** The answer's id, as `message_start` tells it; since 2.1.330. */
  readonly api_message_id?: string;
}

/** An event of the API's stream. */
export interface StreamEvent {
  /** `message_start`, `content_block_start`, `content_block_delta`, `content_block_stop`, `message_delta`, `message_stop`. */
  readonly type: string;
  /** Of events about a block: its place among those that are streamed. */
  readonly index?: number;
  /** Of `content_block_delta`: such as `{ type: "text_delta", text }`. Of `message_delta`: why the model stopped. */
  readonly delta?: Readonly<Record<string, unknown>>;
  /** What else the API gives. */
  readonly [field: string]: unknown;
}
