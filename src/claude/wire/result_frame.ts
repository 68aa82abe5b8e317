import type { AnyFrame } from "./any_frame.ts";
import type { ClaudeLimits } from "./claude_limits.ts";

/**
 * Why a turn ended without an answer. `claude -p` has the subtypes that begin with `error_`; the others are those of this
 * program.
 *
 * - `error_max_turns`: the limit of requests to the model was reached
 * - `error_max_budget_usd`: the limit of the cost was reached
 * - `error_max_structured_output_retries`: the model gave no valid structured output in the allowed number of attempts
 * - `error_during_execution`: the caller stopped the turn
 * - `timeout`: `--timeout` expired
 * - `start_timeout`: Claude Code was not ready for a prompt in time
 * - `delivery_timeout`: Claude Code was ready, but did not accept the prompt in time
 * - `idle_timeout`: Claude Code showed no activity for `--idle-timeout`
 * - `drain_timeout`: the turn ended, but the transcript did not contain its answer in time
 * - `exit_timeout`: Claude Code did not end, not even after SIGKILL
 * - `interrupted`: this program received a signal, or the reader closed the output
 * - `internal_error`: this program or its environment failed
 * - `assistant_error`: the turn ended without an answer
 * - `bad_input`: this program could not parse the caller's input
 * - `refused`: Claude Code refused to start, with a reason, and ended
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

/** Fields of a result that `claude -p` does not have. */
export const OWN_FIELDS: readonly string[] = ["claude_version", "claude_limits"];

/** The tokens and the cost of one model. */
export interface ModelUsage {
  /** Input tokens that were not read from the cache. */
  readonly inputTokens?: number;
  /** Output tokens. */
  readonly outputTokens?: number;
  /** Input tokens that were read from the cache. */
  readonly cacheReadInputTokens?: number;
  /** Input tokens that were written to the cache. */
  readonly cacheCreationInputTokens?: number;
  /** The cost in US dollars. */
  readonly costUSD?: number;
  /** Further fields of Claude Code. */
  readonly [field: string]: unknown;
}

/** The last frame of a turn. */
export interface ResultFrame extends AnyFrame {
  /** The type of the frame. */
  readonly type: "result";
  /** `success` for an answer and, as in `claude -p`, for an API error, whose `is_error` is true. */
  readonly subtype: "success" | FailureSubtype;
  /** True if the turn has no answer, or if the answer is an API error. */
  readonly is_error: boolean;
  /** The number of requests to the model whose tool calls, if any, returned. */
  readonly num_turns: number;
  /** The id of the session, for `--resume`. */
  readonly session_id: string;
  /** The answer. With a subtype of this program: the text before the failure, if there was one. */
  readonly result?: string;
  /** The reasons of the failure, one sentence each. */
  readonly errors?: readonly string[];
  /** The HTTP status of an API error; null without one. */
  readonly api_error_status?: number | null;
  /** Milliseconds from the prompt to the answer. */
  readonly duration_ms?: number;
  /** Milliseconds of `duration_ms` that requests to the API took. */
  readonly duration_api_ms?: number;
  /** Why the model stopped: `end_turn`, `max_tokens`, `refusal`, … */
  readonly stop_reason?: string | null;
  /** The cost of the run up to this turn, in US dollars. Absent if Claude Code reported no cost. */
  readonly total_cost_usd?: number;
  /** The tokens of the turn, in the fields of the API. */
  readonly usage?: Readonly<Record<string, unknown>>;
  /** The tokens and the cost of each model in the run up to this turn. */
  readonly modelUsage?: Readonly<Record<string, ModelUsage>>;
  /** The tool calls that were denied. */
  readonly permission_denials?: readonly {
    readonly tool_name: string;
    readonly tool_use_id: string;
    readonly tool_input: unknown;
  }[];
  /** `completed`, `max_turns`, `aborted_streaming`, `aborted_tools`, … */
  readonly terminal_reason?: string;
  /** The version of Claude Code that answered. `claude -p` has no such field. */
  readonly claude_version: string;
  /** The account's limits and the context. Absent if Claude Code reported none. `claude -p` has no such field. */
  readonly claude_limits?: ClaudeLimits;
}
