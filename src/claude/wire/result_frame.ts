import type { AnyFrame } from "./any_frame.ts";
import type { ClaudeLimits } from "./claude_limits.ts";

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
