import { STOP_SIGNALS, type StopSignal } from "./stop_signal.ts";
import { EXIT } from "../../cli_error.ts";

/** How a turn ended. */
export type Outcome =
  /** The answer is complete; an API error may be that answer. */
  | { readonly kind: "answered" }
  /** A slash command was answered without the model. `command` is its name if it was executed. */
  | { readonly kind: "local"; readonly text: string; readonly command?: string }
  /** The StopFailure hook reported an API error: `error` is its class, `text` its message. */
  | { readonly kind: "failed"; readonly error: string; readonly text: string }
  /** The turn reached the limit of requests to the model. */
  | { readonly kind: "error_max_turns"; readonly turns: number; readonly message: string }
  /** The conversation reached the limit of its cost. `usd` is the limit in US dollars. */
  | { readonly kind: "error_max_budget_usd"; readonly usd: number; readonly message: string }
  /** The model gave no valid structured output in the allowed number of attempts. */
  | { readonly kind: "error_max_structured_output_retries"; readonly message: string }
  /** The caller stopped the turn, and the conversation continues. */
  | { readonly kind: "error_during_execution"; readonly message: string }
  /** The caller's input could not be parsed. */
  | { readonly kind: "bad_input"; readonly message: string }
  /** Claude Code refused to start, with a reason that `claude -p` prints as well, and ended. */
  | { readonly kind: "refused"; readonly message: string }
  /** A time limit expired: that of the run, or that of a stage of it. */
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
  /** This program or its environment failed. */
  | { readonly kind: "internal_error"; readonly message: string }
  /** The turn ended without an answer. */
  | { readonly kind: "assistant_error"; readonly message: string };

/**
 * Returns the exit code of an outcome: 0 for an answer, 1 if the assistant or the API failed, 2 if this program or its
 * environment failed, 124 for `timeout` and `idle_timeout`, and 128 + the number of a signal.
 *
 * @param apiError true if the transcript marks the answer as an API error
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
