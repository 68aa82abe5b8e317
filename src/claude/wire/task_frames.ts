import type { AnyFrame } from "./any_frame.ts";

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
