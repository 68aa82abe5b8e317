import { exitCodeOf, type Outcome } from "../wire/outcome.ts";

/** A run was stopped before it had a child: its time was up, or a signal came. */
export class StoppedError extends Error {
  override readonly name = "StoppedError";
  readonly outcome: Outcome;
  readonly exitCode: number;
  readonly suggestion?: string;

  constructor(
    outcome: Outcome & { readonly message: string },
    options: { readonly suggestion?: string } = {},
  ) {
    super(outcome.message);
    this.outcome = outcome;
    this.exitCode = exitCodeOf(outcome, false);
    if (options.suggestion !== undefined) this.suggestion = options.suggestion;
  }
}
