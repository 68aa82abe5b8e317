import type { Outcome } from "./outcome.ts";

/** One line of stream-json. Consumers must expect fields that are not named here. */
export interface AnyFrame {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** The first line of a turn: what the session is like. */
export interface InitFrame extends AnyFrame {
  readonly type: "system";
  readonly subtype: "init";
  readonly session_id: string;
}

/** A remark, such as `permission_denied` or `informational`. */
export interface SystemFrame extends AnyFrame {
  readonly type: "system";
  readonly subtype: string;
  readonly session_id: string;
}

/** One block of an answer. */
export interface AssistantFrame extends AnyFrame {
  readonly type: "assistant";
  readonly message: Readonly<Record<string, unknown>>;
  readonly parent_tool_use_id: string | null;
  readonly session_id: string;
}

/** A tool's result, or what Claude Code told the model in the user's name. */
export interface UserFrame extends AnyFrame {
  readonly type: "user";
  readonly message: Readonly<Record<string, unknown>>;
  readonly parent_tool_use_id: string | null;
  readonly session_id: string;
}

/** What is known of the account's limits. */
export interface RateLimitFrame extends AnyFrame {
  readonly type: "rate_limit_event";
  readonly rate_limit_info: Readonly<Record<string, unknown>>;
  readonly session_id: string;
}

/** How a run ended without an answer; `claude -p` itself knows only `error_max_turns`. */
export type FailureSubtype = Exclude<Outcome["kind"], "answered" | "failed">;

/** The last line of a turn. */
export interface ResultFrame extends AnyFrame {
  readonly type: "result";
  /** `success` also for an API error, as in `claude -p`; then `is_error` is true. */
  readonly subtype: "success" | FailureSubtype;
  readonly is_error: boolean;
  readonly num_turns: number;
  readonly session_id: string;
  /** The answer. A failure of our own has one only if there was some text. */
  readonly result?: string;
  /** One sentence each; present for failures of our own. */
  readonly errors?: readonly string[];
  /** The version of the Claude Code that was driven. `claude -p` has no such field. */
  readonly claude_version: string;
}

/** Every frame this program makes. */
export type Frame =
  | InitFrame
  | SystemFrame
  | AssistantFrame
  | UserFrame
  | RateLimitFrame
  | ResultFrame;
