import type { AnyFrame } from "./any_frame.ts";
import type { AssistantFrame, StreamEventFrame, UserFrame } from "./message_frames.ts";
import type { ResultFrame } from "./result_frame.ts";
import type { InitFrame, SystemFrame } from "./system_frames.ts";
import type { CallerQuestion, ControlResponse } from "./control.ts";

/** The state of one of the account's rate limits. */
export interface RateLimitFrame extends AnyFrame {
  /** The type of the frame. */
  readonly type: "rate_limit_event";
  /** Which limit it is, and when it is reset. */
  readonly rate_limit_info: Readonly<Record<string, unknown>>;
  /** The id of the session. */
  readonly session_id: string;
}

/**
 * The progress of a message that has an id of the caller, or of a prompt that was scheduled earlier. Claude Code prints
 * this frame since 2.1.330.
 */
export interface LifecycleFrame extends AnyFrame {
  /** The type of the frame. */
  readonly type: "command_lifecycle";
  /** The caller's id of the message, or Claude Code's id of the scheduled prompt. */
  readonly command_uuid: string;
  /** The state that the message has reached. */
  readonly state: "queued" | "started" | "completed" | "cancelled";
  /** Present when a scheduled prompt is started: `loop_wakeup` if the model scheduled it, else `schedule_wakeup`. */
  readonly wakeup_source?: string;
  /** Present with `loop_wakeup`: the scheduled time, in milliseconds since the epoch. */
  readonly scheduled_for?: number;
  /** The id of the session. */
  readonly session_id: string;
}

/** `/clear` ended this session, and the conversation continues in a new, empty one. Since Claude Code 2.1.330. */
export interface ConversationResetFrame extends AnyFrame {
  /** The type of the frame. */
  readonly type: "conversation_reset";
  /** The id of the new conversation. */
  readonly new_conversation_id: string;
  /** The command that caused the reset. */
  readonly trigger: "clear";
  /** The id of the message that contained the command. */
  readonly user_message_uuid: string;
  /** The time of the reset, in ISO 8601. */
  readonly timestamp: string;
  /** The id of the session that ended. */
  readonly session_id: string;
}

/** Lines that Claude Code added to a transcript. The metadata of a subagent is one entry of type `agent_metadata`. */
export interface TranscriptMirrorFrame extends AnyFrame {
  /** The type of the frame. */
  readonly type: "transcript_mirror";
  /** The path of the transcript after the run. */
  readonly filePath: string;
  /** The parsed lines. */
  readonly entries: readonly Readonly<Record<string, unknown>>[];
}

/** A tool call is still running. Claude Code prints this every 30 seconds of the call, since 2.1.330. */
export interface ToolProgressFrame extends AnyFrame {
  /** The type of the frame. */
  readonly type: "tool_progress";
  /** An id that is derived from the id of the call. */
  readonly tool_use_id: string;
  /** The name of the tool. */
  readonly tool_name: string;
  /** The id of the call. */
  readonly parent_tool_use_id: string;
  /** The seconds since the call began. */
  readonly elapsed_time_seconds: number;
}

/** Every frame that this program prints. */
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

/** The answer to a control request of the caller. */
export interface ControlResponseFrame extends AnyFrame {
  /** The type of the frame. */
  readonly type: "control_response";
  /** The result or the error. */
  readonly response: ControlResponse;
}

/** A question that the caller has to answer with a `control_response`. */
export interface ControlRequestFrame extends AnyFrame {
  /** The type of the frame. */
  readonly type: "control_request";
  /** The id that the answer must repeat. */
  readonly request_id: string;
  /** The question. */
  readonly request: CallerQuestion;
}

/** A question needs no answer any more. */
export interface ControlCancelFrame extends AnyFrame {
  /** The type of the frame. */
  readonly type: "control_cancel_request";
  /** The id of the question. */
  readonly request_id: string;
}
