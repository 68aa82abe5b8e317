import type { AnyFrame } from "./any_frame.ts";
import type {
  BackgroundTasksFrame,
  ShellOutputFrame,
  TaskNotificationFrame,
  TaskProgressFrame,
  TaskStartedFrame,
  TaskUpdatedFrame,
} from "./task_frames.ts";

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
