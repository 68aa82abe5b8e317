import type { AnyFrame } from "./any_frame.ts";

/** A task began: a subagent or a shell in the background. */
export interface TaskStartedFrame extends AnyFrame {
  /** The type of the frame. */
  readonly type: "system";
  /** The subtype of the system frame. */
  readonly subtype: "task_started";
  /** The id of the session. */
  readonly session_id: string;
  /** The id of the task. */
  readonly task_id: string;
  /** The id of the call that started it. */
  readonly tool_use_id?: string;
  /** `local_agent` or `local_bash`. */
  readonly task_type: string;
  /** The model's description of the task. */
  readonly description: string;
  /** The type of the subagent. */
  readonly subagent_type?: string;
  /** The prompt of the subagent. */
  readonly prompt?: string;
}

/** A subagent makes a tool call. */
export interface TaskProgressFrame extends AnyFrame {
  /** The type of the frame. */
  readonly type: "system";
  /** The subtype of the system frame. */
  readonly subtype: "task_progress";
  /** The id of the session. */
  readonly session_id: string;
  /** The id of the task. */
  readonly task_id: string;
  /** The id of the call that started it. */
  readonly tool_use_id?: string;
  /** A description of the tool call. */
  readonly description: string;
  /** The type of the subagent. */
  readonly subagent_type?: string;
  /** The tokens of the subagent's last request, and its tool calls and milliseconds until now. */
  readonly usage: {
    readonly total_tokens: number;
    readonly tool_uses: number;
    readonly duration_ms: number;
  };
  /** The name of the called tool. */
  readonly last_tool_name?: string;
}

/** The status of a task changed. */
export interface TaskUpdatedFrame extends AnyFrame {
  /** The type of the frame. */
  readonly type: "system";
  /** The subtype of the system frame. */
  readonly subtype: "task_updated";
  /** The id of the session. */
  readonly session_id: string;
  /** The id of the task. */
  readonly task_id: string;
  /** The changed fields. `end_time` is in milliseconds since the epoch. */
  readonly patch: { readonly status: string; readonly end_time?: number };
}

/** The result of a task. */
export interface TaskNotificationFrame extends AnyFrame {
  /** The type of the frame. */
  readonly type: "system";
  /** The subtype of the system frame. */
  readonly subtype: "task_notification";
  /** The id of the session. */
  readonly session_id: string;
  /** The id of the task. */
  readonly task_id: string;
  /** `completed`, `failed` or `stopped`. */
  readonly status: string;
  /** The description of the task. Since Claude Code 2.1.330: the last text of a subagent. */
  readonly summary?: string;
}

/** The list of tasks in the background changed. Since Claude Code 2.1.330. */
export interface BackgroundTasksFrame extends AnyFrame {
  /** The type of the frame. */
  readonly type: "system";
  /** The subtype of the system frame. */
  readonly subtype: "background_tasks_changed";
  /** The id of the session. */
  readonly session_id: string;
  /** All tasks that are running in the background. */
  readonly tasks: readonly {
    readonly task_id: string;
    readonly task_type: string;
    readonly description: string;
  }[];
}

/**
 * A piece of the output of a running Bash call. Printed with `--shell-output`, which `claude -p` does not have. The joined
 * texts of a call are its complete output. Only the last frame of a call has an empty text.
 */
export interface ShellOutputFrame extends AnyFrame {
  /** The type of the frame. */
  readonly type: "system";
  /** The subtype of the system frame. */
  readonly subtype: "shell_output_delta";
  /** The id of the session. */
  readonly session_id: string;
  /** The id of the call. */
  readonly tool_use_id: string;
  /** Claude Code's id of the shell; null if the call ran no shell, or this program did not see it. */
  readonly task_id: string | null;
  /** `output` for stdout and stderr together. With `--shell-output=split` also `stdout` and `stderr`. */
  readonly stream: "output" | "stdout" | "stderr";
  /** A part of a line, or several lines. U+FFFD replaces bytes that are not UTF-8. */
  readonly text: string;
}
