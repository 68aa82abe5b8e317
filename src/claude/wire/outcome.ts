import { STOP_SIGNALS, type StopSignal } from "./stop_signal.ts";
import { EXIT } from "../../cli_error.ts";

/** How a turn ended, seen from outside. */
export type Outcome =
  /** The answer is complete; an API error may be that answer. */
  | { readonly kind: "answered" }
  /** A slash command was answered without the model; one that was carried out has a name. */
  | { readonly kind: "local"; readonly text: string; readonly command?: string }
  /** The StopFailure hook: `error` is its class, `text` its message. */
  | { readonly kind: "failed"; readonly error: string; readonly text: string }
  /** The turn was stopped after as many requests to the model as were allowed. */
  | { readonly kind: "error_max_turns"; readonly turns: number; readonly message: string }
  /** The conversation has cost as much as it may, in US dollars. */
  | { readonly kind: "error_max_budget_usd"; readonly usd: number; readonly message: string }
  /** The model has tried as often as it may to give a structured answer. */
  | { readonly kind: "error_max_structured_output_retries"; readonly message: string }
  /** The caller stopped the turn, and nothing else. */
  | { readonly kind: "error_during_execution"; readonly message: string }
  /** What the caller sent could not be understood. */
  | { readonly kind: "bad_input"; readonly message: string }
  /** Claude Code said why it begins nothing, as `claude -p` does, and ended. */
  | { readonly kind: "refused"; readonly message: string }
  /** A limit ran out: the wall clock, or the one for a stage of the run. */
  | {
    readonly kind:
      | "timeout"
      | "start_timeout"
      | "delivery_timeout"
      | "idle_timeout"
      | "drain_timeout"
      | "exit_timeout";
    readonly message: string;
  }
  | {
    readonly kind: "interrupted";
    readonly signal: StopSignal;
    readonly message: string;
  }
  /** This program or its surroundings failed. */
  | { readonly kind: "internal_error"; readonly message: string }
  /** The assistant gave no answer that could be read. */
  | { readonly kind: "assistant_error"; readonly message: string };

/**
 * The exit code for an outcome: 0 for an answer, 1 if the assistant or the API failed, 2 if this
 * program or its surroundings did, 124 when the run or its silence took too long, 128 + the number of a signal.
 *
 * @param apiError whether the answer is an API error, which the transcript tells
 */
export function exitCodeOf(outcome: Outcome, apiError: boolean): number {
  switch (outcome.kind) {
    case "answered":
      return apiError ? 1 : 0;
    case "local":
      return 0;
    case "failed":
    case "error_max_turns":
    case "error_max_budget_usd":
    case "error_max_structured_output_retries":
    case "assistant_error":
    case "error_during_execution":
    case "bad_input":
    case "refused":
      return 1;
    case "internal_error":
    case "start_timeout":
    case "delivery_timeout":
    case "drain_timeout":
    case "exit_timeout":
      return 2;
    case "timeout":
    case "idle_timeout":
      return EXIT.timedOut;
    case "interrupted":
      return EXIT.signal + STOP_SIGNALS[outcome.signal];
  }
}
