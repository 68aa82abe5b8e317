import type { AnyFrame } from "./any_frame.ts";
import type { AssistantFrame, StreamEventFrame, UserFrame } from "./message_frames.ts";
import type { ResultFrame } from "./result_frame.ts";
import type { InitFrame, SystemFrame } from "./system_frames.ts";
import type { CallerQuestion, ControlResponse } from "./control.ts";

/** What is known of the account's limits. */
export interface RateLimitFrame extends AnyFrame {
  /** What kind of frame it is. */
  readonly type: "rate_limit_event";
  /** Which limit, and when it ends. */
  readonly rate_limit_info: Readonly<Record<string, unknown>>;
  /** The session. */
  readonly session_id: string;
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
