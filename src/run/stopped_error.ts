import { CliError } from "../cli_error.ts";
import { exitCodeOf, type Outcome } from "../claude/wire/outcome.ts";

/** A run was stopped before it had a child: its time was up, or a signal came. */
export class StoppedError extends CliError {
  override readonly name = "StoppedError";
  /** What a result says of it. */
  readonly outcome: Outcome;

  constructor(
    outcome: Outcome & { readonly message: string },
    options: { readonly suggestion?: string } = {},
  ) {
    super(outcome.message, { ...options, exitCode: exitCodeOf(outcome, false) });
    this.outcome = outcome;
  }
}
