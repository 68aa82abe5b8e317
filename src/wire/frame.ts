import type { ClaudeLimits } from "./claude_limits.ts";
import type { CallerQuestion, ControlResponse } from "./control.ts";

/** One line of stream-json. Consumers must expect fields that are not named here. */
export interface AnyFrame {
  /** What kind of frame it is. */
  readonly type: string;
  /** Fields differ between versions of Claude Code, and the API adds its own. */
  readonly [field: string]: unknown;
}

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

/** The first line of a turn: what the session is like. What Claude Code does not tell is empty or missing. */
export interface InitFrame extends AnyFrame {
  /** What kind of frame it is. */
  readonly type: "system";
  /** Which one of its kind. */
  readonly subtype: "init";
  /** The id to go on with: `--resume`. */
  readonly session_id: string;
  /** The working directory. */
  readonly cwd?: string;
  /** The model, as it is called on the command line: `claude-opus-4-8[1m]`. */
  readonly model?: string;
  /** `default`, `acceptEdits`, `plan`, … */
  readonly permissionMode?: string;
  /** The tools on offer; empty before Claude Code 2.1.330. */
  readonly tools?: readonly string[];
  /** The MCP servers by name, and whether they are connected. */
  readonly mcp_servers?: readonly { readonly name: string; readonly status: string }[];
  /** The agents by name. */
  readonly agents?: readonly string[];
  /** The skills by name. */
  readonly skills?: readonly string[];
  /** `ANTHROPIC_API_KEY` or `apiKeyHelper`; `none` for every kind of token. */
  readonly apiKeySource?: string;
  /** The version of Claude Code. */
  readonly claude_code_version?: string;
}

/** What the session is at, for whoever set `CLAUDE_CODE_SDK_READS_SESSION_STATE=1`; since Claude Code 2.1.330. */
export interface SessionStateFrame extends AnyFrame {
  /** What kind of frame it is. */
  readonly type: "system";
  /** Which one of its kind. */
  readonly subtype: "session_state_changed";
  /** Whether it works, waits for a permission, or for the next message. */
  readonly state: "running" | "requires_action" | "idle";
  /** The session. */
  readonly session_id: string;
}

/** A request to the API failed and is made again. */
export interface ApiRetryFrame extends AnyFrame {
  /** What kind of frame it is. */
  readonly type: "system";
  /** Which one of its kind. */
  readonly subtype: "api_retry";
  /** The session. */
  readonly session_id: string;
  /** The number of the request that failed, from 1. */
  readonly attempt: number;
  /** How many more than the first request there may be. */
  readonly max_retries: number;
  /** Milliseconds until the next request, in whole seconds. */
  readonly retry_delay_ms: number;
  /** The HTTP status; null when there was no response. */
  readonly error_status: number | null;
  /** A class: `overloaded`, `rate_limit`, `authentication_failed`, `server_error`, `unknown`. */
  readonly error: string;
}

/** A call of a tool was refused, because nobody can be asked or a rule says so. */
export interface PermissionDeniedFrame extends AnyFrame {
  /** What kind of frame it is. */
  readonly type: "system";
  /** Which one of its kind. */
  readonly subtype: "permission_denied";
  /** The session. */
  readonly session_id: string;
  /** The tool. */
  readonly tool_name: string;
  /** The id of the call. */
  readonly tool_use_id: string;
  /** The subagent that made the call; absent for the model itself. */
  readonly agent_id?: string;
  /** What decided it, where that is known: `rule`, `mode`, … */
  readonly decision_reason_type?: string;
  /** What the model was told. */
  readonly message?: unknown;
}

/** A remark of Claude Code; since 2.1.330. */
export interface InformationalFrame extends AnyFrame {
  /** What kind of frame it is. */
  readonly type: "system";
  /** Which one of its kind. */
  readonly subtype: "informational";
  /** The session. */
  readonly session_id: string;
  /** The remark. */
  readonly content?: string;
  /** Such as `notice`. */
  readonly level?: string;
}

/** What Claude Code is at: it asks the model, compacts the conversation, or has done so. */
export interface StatusFrame extends AnyFrame {
  /** What kind of frame it is. */
  readonly type: "system";
  /** Which one of its kind. */
  readonly subtype: "status";
  /** The session. */
  readonly session_id: string;
  /** `compacting`, and null once that is over; with `--include-partial-messages` also `requesting`. */
  readonly status: string | null;
  /** What came of it. */
  readonly compact_result?: "success" | "failed";
  /** Why it failed, such as `too_few_groups`. */
  readonly compact_error?: string;
}

/** The conversation before it has been compacted: a summary stands in its place. */
export interface CompactBoundaryFrame extends AnyFrame {
  /** What kind of frame it is. */
  readonly type: "system";
  /** Which one of its kind. */
  readonly subtype: "compact_boundary";
  /** The session. */
  readonly session_id: string;
  /** Its sizes before and after in tokens, and what is left as it was. */
  readonly compact_metadata: {
    readonly trigger?: "auto" | "manual";
    readonly pre_tokens?: number;
    readonly post_tokens?: number;
    readonly [field: string]: unknown;
  };
  /** The last line before it; since 2.1.330. */
  readonly logical_parent_uuid?: string;
}

/** That another model answers from here on, because the one that was asked cannot: `--fallback-model`. */
export interface ModelFallbackFrame extends AnyFrame {
  /** What kind of frame it is. */
  readonly type: "system";
  /** Which one of its kind. */
  readonly subtype: "model_fallback";
  /** Why, such as `overloaded`. */
  readonly trigger?: unknown;
  /** The model that was asked. */
  readonly original_model?: unknown;
  /** The one in its place. */
  readonly fallback_model?: unknown;
  /** The same as a sentence. */
  readonly content?: unknown;
  /** The session. */
  readonly session_id: string;
}

/** The model refused to go on. */
export interface ModelRefusalFrame extends AnyFrame {
  /** What kind of frame it is. */
  readonly type: "system";
  /** Which one of its kind. */
  readonly subtype: "model_refusal_no_fallback";
  /** The session. */
  readonly session_id: string;
  /** The model that refused. */
  readonly original_model?: string;
  /** The API's class of the refusal, and its words. */
  readonly api_refusal_category?: string | null;
  /** What the API says of it. */
  readonly api_refusal_explanation?: string | null;
}

/** A task has begun: a subagent, or a shell in the background. */
export interface TaskStartedFrame extends AnyFrame {
  /** What kind of frame it is. */
  readonly type: "system";
  /** Which one of its kind. */
  readonly subtype: "task_started";
  /** The session. */
  readonly session_id: string;
  /** The task. */
  readonly task_id: string;
  /** The id of the call that started it. */
  readonly tool_use_id?: string;
  /** `local_agent` or `local_bash`. */
  readonly task_type: string;
  /** What it is about, in the model's words. */
  readonly description: string;
  /** The kind of subagent. */
  readonly subagent_type?: string;
  /** The prompt of a subagent. */
  readonly prompt?: string;
}

/** A subagent makes a call. */
export interface TaskProgressFrame extends AnyFrame {
  /** What kind of frame it is. */
  readonly type: "system";
  /** Which one of its kind. */
  readonly subtype: "task_progress";
  /** The session. */
  readonly session_id: string;
  /** The task. */
  readonly task_id: string;
  /** The id of the call that started it. */
  readonly tool_use_id?: string;
  /** What the call does. */
  readonly description: string;
  /** The kind of subagent. */
  readonly subagent_type?: string;
  /** What it has taken so far: tokens of its last request, calls, and milliseconds. */
  readonly usage: {
    readonly total_tokens: number;
    readonly tool_uses: number;
    readonly duration_ms: number;
  };
  /** The tool that is called. */
  readonly last_tool_name?: string;
}

/** A task has ended, or goes on in another way. */
export interface TaskUpdatedFrame extends AnyFrame {
  /** What kind of frame it is. */
  readonly type: "system";
  /** Which one of its kind. */
  readonly subtype: "task_updated";
  /** The session. */
  readonly session_id: string;
  /** The task. */
  readonly task_id: string;
  /** What changed; `end_time` is in milliseconds since the epoch. */
  readonly patch: { readonly status: string; readonly end_time?: number };
}

/** What came of a task. */
export interface TaskNotificationFrame extends AnyFrame {
  /** What kind of frame it is. */
  readonly type: "system";
  /** Which one of its kind. */
  readonly subtype: "task_notification";
  /** The session. */
  readonly session_id: string;
  /** The task. */
  readonly task_id: string;
  /** `completed`, `failed` or `stopped`. */
  readonly status: string;
  /** What it was about, or since 2.1.330 the last words of a subagent. */
  readonly summary?: string;
}

/** The tasks that go on in the background; since 2.1.330. */
export interface BackgroundTasksFrame extends AnyFrame {
  /** What kind of frame it is. */
  readonly type: "system";
  /** Which one of its kind. */
  readonly subtype: "background_tasks_changed";
  /** The session. */
  readonly session_id: string;
  /** All of them. */
  readonly tasks: readonly {
    readonly task_id: string;
    readonly task_type: string;
    readonly description: string;
  }[];
}

/**
 * A piece of what a call of Bash writes while it runs; with `--shell-output`, which `claude -p` does not have. The texts
 * of a call, joined, are all that it wrote. Its last frame, and no other, has an empty text.
 */
export interface ShellOutputFrame extends AnyFrame {
  /** What kind of frame it is. */
  readonly type: "system";
  /** Which one of its kind. */
  readonly subtype: "shell_output_delta";
  /** The session. */
  readonly session_id: string;
  /** The id of the call. */
  readonly tool_use_id: string;
  /** The id that Claude Code gave the shell; null for a call whose shell was not seen, or that ran none. */
  readonly task_id: string | null;
  /** `output`: stdout and stderr as one; with `--shell-output=split` also either of them. */
  readonly stream: "output" | "stdout" | "stderr";
  /** What was written, a part of a line or several lines; what is no UTF-8 is U+FFFD. */
  readonly text: string;
}

/** A hook runs; with `--include-hook-events`, and for SessionStart in any case. It is told when the hook has ended. */
export interface HookStartedFrame extends AnyFrame {
  /** What kind of frame it is. */
  readonly type: "system";
  /** Which one of its kind. */
  readonly subtype: "hook_started";
  /** The session. */
  readonly session_id: string;
  /** What belongs together. */
  readonly hook_id: string;
  /** The event and what it was for, such as `PreToolUse:Bash`. */
  readonly hook_name: string;
  /** Such as `PreToolUse`. */
  readonly hook_event: string;
}

/** A hook has ended. */
export interface HookResponseFrame extends AnyFrame {
  /** What kind of frame it is. */
  readonly type: "system";
  /** Which one of its kind. */
  readonly subtype: "hook_response";
  /** The session. */
  readonly session_id: string;
  /** The same as when it began. */
  readonly hook_id: string;
  /** The event and what it was for. */
  readonly hook_name: string;
  /** Such as `PreToolUse`. */
  readonly hook_event: string;
  /** What it wrote: stdout, and then stderr. */
  readonly output: string;
  /** What it wrote to stdout. */
  readonly stdout: string;
  /** What it wrote to stderr. */
  readonly stderr: string;
  /** Its exit code; of an HTTP hook the status. */
  readonly exit_code: number;
  /** What came of it. */
  readonly outcome: "success" | "error" | "cancelled";
}

/** Something that Claude Code shows to its user in passing, such as that a Stop hook has failed. */
export interface NotificationFrame extends AnyFrame {
  /** What kind of frame it is. */
  readonly type: "system";
  /** Which one of its kind. */
  readonly subtype: "notification";
  /** The session. */
  readonly session_id: string;
  /** What it is about: `stop-hook-error`. */
  readonly key: string;
  /** The words. */
  readonly text: string;
  /** Such as `immediate`. */
  readonly priority?: string;
}

/** The session has another title: a command has given it one. */
export interface SessionTitleFrame extends AnyFrame {
  /** What kind of frame it is. */
  readonly type: "system";
  /** Which one of its kind. */
  readonly subtype: "session_title_changed";
  /** The session. */
  readonly session_id: string;
  /** The title. */
  readonly title: string;
}

/** There are other commands than before: one has loaded them anew. */
export interface CommandsFrame extends AnyFrame {
  /** What kind of frame it is. */
  readonly type: "system";
  /** Which one of its kind. */
  readonly subtype: "commands_changed";
  /** The session. */
  readonly session_id: string;
  /** Those that there are, each with its name and a description. */
  readonly commands: readonly unknown[];
}

/** How much has been thought in the block of thoughts under way, an estimate. */
export interface ThinkingTokensFrame extends AnyFrame {
  /** What kind of frame it is. */
  readonly type: "system";
  /** Which one of its kind. */
  readonly subtype: "thinking_tokens";
  /** The session. */
  readonly session_id: string;
  /** In the block so far. */
  readonly estimated_tokens: number;
  /** Since the frame before. */
  readonly estimated_tokens_delta: number;
  /** The message that the model thinks about, if its sender gave it an id. */
  readonly user_message_uuid?: string;
}

/** What is neither said by the model nor told to it. */
export type SystemFrame =
  | SessionStateFrame
  | ApiRetryFrame
  | PermissionDeniedFrame
  | InformationalFrame
  | StatusFrame
  | CompactBoundaryFrame
  | ModelFallbackFrame
  | ModelRefusalFrame
  | TaskStartedFrame
  | TaskProgressFrame
  | TaskUpdatedFrame
  | TaskNotificationFrame
  | BackgroundTasksFrame
  | HookStartedFrame
  | HookResponseFrame
  | NotificationFrame
  | SessionTitleFrame
  | CommandsFrame
  | ThinkingTokensFrame
  | ShellOutputFrame;

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

/** What is known of the account's limits. */
export interface RateLimitFrame extends AnyFrame {
  /** What kind of frame it is. */
  readonly type: "rate_limit_event";
  /** Which limit, and when it ends. */
  readonly rate_limit_info: Readonly<Record<string, unknown>>;
  /** The session. */
  readonly session_id: string;
}

/** The answer to a request that the caller made on stdin. */
export interface ControlResponseFrame extends AnyFrame {
  /** What kind of frame it is. */
  readonly type: "control_response";
  /** Whether it was carried out, and what came of it. */
  readonly response: ControlResponse;
}

/** A question that the caller has to answer. */
export interface ControlRequestFrame extends AnyFrame {
  /** What kind of frame it is. */
  readonly type: "control_request";
  /** By what it is answered. */
  readonly request_id: string;
  /** What is asked. */
  readonly request: CallerQuestion;
}

/** A question that nobody waits to have answered any more. */
export interface ControlCancelFrame extends AnyFrame {
  /** What kind of frame it is. */
  readonly type: "control_cancel_request";
  /** The question. */
  readonly request_id: string;
}

/**
 * What becomes of a message to which the caller gave an id, or of a prompt that has waited for its time; since Claude
 * Code 2.1.330.
 */
export interface LifecycleFrame extends AnyFrame {
  /** What kind of frame it is. */
  readonly type: "command_lifecycle";
  /** The caller's id; of a prompt that has waited, Claude Code's own. */
  readonly command_uuid: string;
  /** How far the message is. */
  readonly state: "queued" | "started" | "completed" | "cancelled";
  /** Where a prompt that has waited is started: `loop_wakeup` if the model has had itself woken, else `schedule_wakeup`. */
  readonly wakeup_source?: string;
  /** Beside `loop_wakeup`: for when that was, in milliseconds since the epoch. */
  readonly scheduled_for?: number;
  /** The session. */
  readonly session_id: string;
}

/**
 * How a turn ended without an answer; `claude -p` itself knows only `error_max_turns`, `error_max_budget_usd` and
 * `error_during_execution`.
 *
 * - `timeout`: `--timeout` ran out
 * - `start_timeout`: Claude Code was never ready for a prompt
 * - `delivery_timeout`: it was ready, but did not take the prompt
 * - `idle_timeout`: there was no sign of life for `--idle-timeout`
 * - `drain_timeout`: the turn ended, but nowhere stands with what answer
 * - `exit_timeout`: not even SIGKILL ended Claude Code
 * - `interrupted`: a signal, or nobody wanted the rest
 * - `internal_error`: this program or its surroundings failed
 * - `assistant_error`: the turn ended without an answer
 * - `error_during_execution`: the caller stopped the turn, as `claude -p` names it
 * - `bad_input`: what the caller sent could not be understood
 * - `refused`: Claude Code said why it begins nothing, and ended
 */
export type FailureSubtype =
  | "error_max_turns"
  | "error_max_budget_usd"
  | "error_max_structured_output_retries"
  | "timeout"
  | "start_timeout"
  | "delivery_timeout"
  | "idle_timeout"
  | "drain_timeout"
  | "exit_timeout"
  | "interrupted"
  | "internal_error"
  | "assistant_error"
  | "error_during_execution"
  | "bad_input"
  | "refused";

/** What a model was used for. */
export interface ModelUsage {
  /** Tokens that were read and not cached. */
  readonly inputTokens?: number;
  /** Tokens that were written. */
  readonly outputTokens?: number;
  /** Tokens that were read from the cache. */
  readonly cacheReadInputTokens?: number;
  /** Tokens that went into the cache. */
  readonly cacheCreationInputTokens?: number;
  /** US dollars. */
  readonly costUSD?: number;
  /** What else Claude Code tells. */
  readonly [field: string]: unknown;
}

/** The last line of a turn. */
export interface ResultFrame extends AnyFrame {
  /** What kind of frame it is. */
  readonly type: "result";
  /** `success` also for an API error, as in `claude -p`; then `is_error` is true. */
  readonly subtype: "success" | FailureSubtype;
  /** Whether there is no answer, or one that tells an API error. */
  readonly is_error: boolean;
  /** Requests to the model whose tools, if any, came back. */
  readonly num_turns: number;
  /** The id to go on with: `--resume`. */
  readonly session_id: string;
  /** The answer. A failure of our own has one only if there was some text. */
  readonly result?: string;
  /** One sentence each; present for failures of our own. */
  readonly errors?: readonly string[];
  /** The HTTP status of an API error; null without one. */
  readonly api_error_status?: number | null;
  /** Milliseconds from the prompt to the answer. */
  readonly duration_ms?: number;
  /** Milliseconds of it that the API took. */
  readonly duration_api_ms?: number;
  /** Why the model stopped: `end_turn`, `max_tokens`, `refusal`, … */
  readonly stop_reason?: string | null;
  /** US dollars, for the whole run so far; missing where Claude Code did not tell. */
  readonly total_cost_usd?: number;
  /** Tokens of the turn, in the fields of the API. */
  readonly usage?: Readonly<Record<string, unknown>>;
  /** What each model was used for in the whole run so far. */
  readonly modelUsage?: Readonly<Record<string, ModelUsage>>;
  /** The calls that were refused. */
  readonly permission_denials?: readonly {
    readonly tool_name: string;
    readonly tool_use_id: string;
    readonly tool_input: unknown;
  }[];
  /** `completed`, `max_turns`, `aborted_streaming`, `aborted_tools`, … */
  readonly terminal_reason?: string;
  /** The version of the Claude Code that was driven. `claude -p` has no such field. */
  readonly claude_version: string;
  /** What is left of limits; missing where Claude Code told nothing of them. `claude -p` has no such field. */
  readonly claude_limits?: ClaudeLimits;
}

/** The conversation goes on in another session, which knows nothing of this one; since Claude Code 2.1.330. */
export interface ConversationResetFrame extends AnyFrame {
  /** What kind of frame it is. */
  readonly type: "conversation_reset";
  /** An id for what follows. */
  readonly new_conversation_id: string;
  /** What gave rise to it. */
  readonly trigger: "clear";
  /** The message that did. */
  readonly user_message_uuid: string;
  /** When, in ISO 8601. */
  readonly timestamp: string;
  /** The session that has ended. */
  readonly session_id: string;
}

/** Lines that were added to a transcript, or what is noted of the subagent whose it is, as one `agent_metadata`. */
export interface TranscriptMirrorFrame extends AnyFrame {
  /** What kind of frame it is. */
  readonly type: "transcript_mirror";
  /** The file in which they will stand once the run is over. */
  readonly filePath: string;
  /** The lines, parsed. */
  readonly entries: readonly Readonly<Record<string, unknown>>[];
}

/** A call is still at work, every 30 s; since Claude Code 2.1.330. */
export interface ToolProgressFrame extends AnyFrame {
  /** What kind of frame it is. */
  readonly type: "tool_progress";
  /** An id of its own, made of that of the call. */
  readonly tool_use_id: string;
  /** The tool. */
  readonly tool_name: string;
  /** The id of the call. */
  readonly parent_tool_use_id: string;
  /** For how long it has been at work. */
  readonly elapsed_time_seconds: number;
}

/** Every frame this program makes. */
export type Frame =
  | InitFrame
  | SystemFrame
  | AssistantFrame
  | UserFrame
  | StreamEventFrame
  | RateLimitFrame
  | LifecycleFrame
  | ControlResponseFrame
  | ControlRequestFrame
  | ControlCancelFrame
  | TranscriptMirrorFrame
  | ToolProgressFrame
  | ConversationResetFrame
  | ResultFrame;
