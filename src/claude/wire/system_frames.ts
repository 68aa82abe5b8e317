import type { AnyFrame } from "./any_frame.ts";
import type {
  BackgroundTasksFrame,
  ShellOutputFrame,
  TaskNotificationFrame,
  TaskProgressFrame,
  TaskStartedFrame,
  TaskUpdatedFrame,
} from "./task_frames.ts";

/** The first frame of a turn: the configuration of the session. Unknown fields are empty or absent. */
export interface InitFrame extends AnyFrame {
  /** The type of the frame. */
  readonly type: "system";
  /** The subtype of the system frame. */
  readonly subtype: "init";
  /** The id of the session, for `--resume`. */
  readonly session_id: string;
  /** The working directory. */
  readonly cwd?: string;
  /** The model in the form of the `--model` flag: `claude-opus-4-8[1m]`. */
  readonly model?: string;
  /** The permission mode: `default`, `acceptEdits`, `plan`, … */
  readonly permissionMode?: string;
  /** The tools that the model can call. Empty before Claude Code 2.1.330. */
  readonly tools?: readonly string[];
  /** The name of each MCP server, and its status, such as `connected`. */
  readonly mcp_servers?: readonly { readonly name: string; readonly status: string }[];
  /** The names of the agents. */
  readonly agents?: readonly string[];
  /** The names of the skills. */
  readonly skills?: readonly string[];
  /** Where the API key comes from: `ANTHROPIC_API_KEY` or `apiKeyHelper`. `none` for a login or token. */
  readonly apiKeySource?: string;
  /** The version of Claude Code. */
  readonly claude_code_version?: string;
}

/** The state of the session. Printed if `CLAUDE_CODE_SDK_READS_SESSION_STATE=1`, since Claude Code 2.1.330. */
export interface SessionStateFrame extends AnyFrame {
  /** The type of the frame. */
  readonly type: "system";
  /** The subtype of the system frame. */
  readonly subtype: "session_state_changed";
  /** `running` during a turn, `requires_action` during a permission request, `idle` between turns. */
  readonly state: "running" | "requires_action" | "idle";
  /** The id of the session. */
  readonly session_id: string;
}

/** A request to the API failed. Claude Code repeats it after a delay. */
export interface ApiRetryFrame extends AnyFrame {
  /** The type of the frame. */
  readonly type: "system";
  /** The subtype of the system frame. */
  readonly subtype: "api_retry";
  /** The id of the session. */
  readonly session_id: string;
  /** The number of the request that failed, from 1. */
  readonly attempt: number;
  /** The maximum number of repetitions. */
  readonly max_retries: number;
  /** The delay before the next request in milliseconds, rounded to whole seconds. */
  readonly retry_delay_ms: number;
  /** The HTTP status; null without a response. */
  readonly error_status: number | null;
  /** The class of the error: `overloaded`, `rate_limit`, `authentication_failed`, `server_error` or `unknown`. */
  readonly error: string;
}

/** A tool call was denied by a rule, or because no user can answer the permission request. */
export interface PermissionDeniedFrame extends AnyFrame {
  /** The type of the frame. */
  readonly type: "system";
  /** The subtype of the system frame. */
  readonly subtype: "permission_denied";
  /** The id of the session. */
  readonly session_id: string;
  /** The name of the tool. */
  readonly tool_name: string;
  /** The id of the call. */
  readonly tool_use_id: string;
  /** The id of the subagent that made the call; absent for the main conversation. */
  readonly agent_id?: string;
  /** The cause of the decision: `rule`, `mode`, … Absent if unknown. */
  readonly decision_reason_type?: string;
  /** The tool result that the model received. */
  readonly message?: unknown;
}

/** A message of Claude Code to the user. Since 2.1.330. */
export interface InformationalFrame extends AnyFrame {
  /** The type of the frame. */
  readonly type: "system";
  /** The subtype of the system frame. */
  readonly subtype: "informational";
  /** The id of the session. */
  readonly session_id: string;
  /** The text of the message. */
  readonly content?: string;
  /** The level of the message, such as `notice`. */
  readonly level?: string;
}

/** Claude Code sends a request to the model, or it begins or ends a compaction of the conversation. */
export interface StatusFrame extends AnyFrame {
  /** The type of the frame. */
  readonly type: "system";
  /** The subtype of the system frame. */
  readonly subtype: "status";
  /** The id of the session. */
  readonly session_id: string;
  /** `compacting`, and null at its end. With `--include-partial-messages` also `requesting`. */
  readonly status: string | null;
  /** The result of the compaction. */
  readonly compact_result?: "success" | "failed";
  /** Why the compaction failed, such as `too_few_groups`. */
  readonly compact_error?: string;
}

/** Claude Code compacted the conversation: a summary replaces the messages before this frame. */
export interface CompactBoundaryFrame extends AnyFrame {
  /** The type of the frame. */
  readonly type: "system";
  /** The subtype of the system frame. */
  readonly subtype: "compact_boundary";
  /** The id of the session. */
  readonly session_id: string;
  /** The trigger of the compaction, and the sizes of the conversation before and after it in tokens. */
  readonly compact_metadata: {
    readonly trigger?: "auto" | "manual";
    readonly pre_tokens?: number;
    readonly post_tokens?: number;
    readonly [field: string]: unknown;
  };
  /** The id of the last message before it. Since Claude Code 2.1.330. */
  readonly logical_parent_uuid?: string;
}

/** Another model answers from now on, because the requested one is not available: `--fallback-model`. */
export interface ModelFallbackFrame extends AnyFrame {
  /** The type of the frame. */
  readonly type: "system";
  /** The subtype of the system frame. */
  readonly subtype: "model_fallback";
  /** The reason, such as `overloaded`. */
  readonly trigger?: unknown;
  /** The requested model. */
  readonly original_model?: unknown;
  /** The model that replaces it. */
  readonly fallback_model?: unknown;
  /** A message to the user about it. */
  readonly content?: unknown;
  /** The id of the session. */
  readonly session_id: string;
}

/** The model refused to continue. */
export interface ModelRefusalFrame extends AnyFrame {
  /** The type of the frame. */
  readonly type: "system";
  /** The subtype of the system frame. */
  readonly subtype: "model_refusal_no_fallback";
  /** The id of the session. */
  readonly session_id: string;
  /** The model that refused. */
  readonly original_model?: string;
  /** The API's category of the refusal. */
  readonly api_refusal_category?: string | null;
  /** The API's explanation of the refusal. */
  readonly api_refusal_explanation?: string | null;
}

/**
 * A hook began. Printed for SessionStart hooks, and for all hooks with `--include-hook-events`. This program prints it when
 * the hook has ended.
 */
export interface HookStartedFrame extends AnyFrame {
  /** The type of the frame. */
  readonly type: "system";
  /** The subtype of the system frame. */
  readonly subtype: "hook_started";
  /** The id of the session. */
  readonly session_id: string;
  /** The id of this execution: its `hook_response` has the same. */
  readonly hook_id: string;
  /** The event and what it matched, such as `PreToolUse:Bash`. */
  readonly hook_name: string;
  /** The event, such as `PreToolUse`. */
  readonly hook_event: string;
}

/** A hook ended. */
export interface HookResponseFrame extends AnyFrame {
  /** The type of the frame. */
  readonly type: "system";
  /** The subtype of the system frame. */
  readonly subtype: "hook_response";
  /** The id of the session. */
  readonly session_id: string;
  /** The id of its `hook_started`. */
  readonly hook_id: string;
  /** The event and what it matched, such as `PreToolUse:Bash`. */
  readonly hook_name: string;
  /** The event, such as `PreToolUse`. */
  readonly hook_event: string;
  /** The output of the hook: its stdout, then its stderr. */
  readonly output: string;
  /** The stdout of the hook. */
  readonly stdout: string;
  /** The stderr of the hook. */
  readonly stderr: string;
  /** The exit code of the hook; the HTTP status for an HTTP hook. */
  readonly exit_code: number;
  /** Whether the hook succeeded, failed or was cancelled. */
  readonly outcome: "success" | "error" | "cancelled";
}

/** A short notification of Claude Code to the user, such as that a Stop hook failed. */
export interface NotificationFrame extends AnyFrame {
  /** The type of the frame. */
  readonly type: "system";
  /** The subtype of the system frame. */
  readonly subtype: "notification";
  /** The id of the session. */
  readonly session_id: string;
  /** The kind of notification, such as `stop-hook-error`. */
  readonly key: string;
  /** The text of the notification. */
  readonly text: string;
  /** The priority, such as `immediate`. */
  readonly priority?: string;
}

/** A command changed the title of the session. */
export interface SessionTitleFrame extends AnyFrame {
  /** The type of the frame. */
  readonly type: "system";
  /** The subtype of the system frame. */
  readonly subtype: "session_title_changed";
  /** The id of the session. */
  readonly session_id: string;
  /** The new title. */
  readonly title: string;
}

/** The list of slash commands changed, because a command reloaded it. */
export interface CommandsFrame extends AnyFrame {
  /** The type of the frame. */
  readonly type: "system";
  /** The subtype of the system frame. */
  readonly subtype: "commands_changed";
  /** The id of the session. */
  readonly session_id: string;
  /** All commands now, each with a name and a description. */
  readonly commands: readonly unknown[];
}

/** An estimate of the tokens in the `thinking` block that the model is writing. */
export interface ThinkingTokensFrame extends AnyFrame {
  /** The type of the frame. */
  readonly type: "system";
  /** The subtype of the system frame. */
  readonly subtype: "thinking_tokens";
  /** The id of the session. */
  readonly session_id: string;
  /** The tokens of the block until now. */
  readonly estimated_tokens: number;
  /** The tokens since the previous frame of this subtype. */
  readonly estimated_tokens_delta: number;
  /** The id that the caller gave to the message, if it gave one. */
  readonly user_message_uuid?: string;
}

/** A frame that is no message of a conversation. */
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
