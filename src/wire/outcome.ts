/** How a turn ended, seen from outside. */
export type Outcome =
  /** The answer is complete; an API error may be that answer. */
  | { readonly kind: "answered" }
  /** The StopFailure hook: `error` is its class, `text` its message. */
  | { readonly kind: "failed"; readonly error: string; readonly text: string }
  /** The wall clock ran out. */
  | { readonly kind: "timeout"; readonly message: string }
  | {
    readonly kind: "interrupted";
    readonly signal: "SIGINT" | "SIGTERM" | "SIGHUP";
    readonly message: string;
  }
  /** This program or its surroundings failed. */
  | { readonly kind: "internal_error"; readonly message: string }
  /** The assistant gave no answer that could be read. */
  | { readonly kind: "assistant_error"; readonly message: string };

/**
 * The exit code for an outcome: 0 for an answer, 1 if the assistant or the API failed, 2 if this
 * program did, 124 after the timeout, 128 + the number of a signal.
 *
 * @param apiError whether the answer is an API error, which the transcript tells
 */
export function exitCodeOf(outcome: Outcome, apiError: boolean): number {
  switch (outcome.kind) {
    case "answered":
      return apiError ? 1 : 0;
    case "failed":
    case "assistant_error":
      return 1;
    case "internal_error":
      return 2;
    case "timeout":
      return 124;
    case "interrupted":
      return { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 }[outcome.signal];
  }
}
