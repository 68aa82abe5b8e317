/**
 * A failure that a user can act on: one line that names the failed action, and what to type instead.
 *
 * `message` names the action first, in the active voice, without a full stop. `suggestion` says what
 * to do about it. `exitCode` is 2 unless given: this program or its environment failed.
 */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly exitCode: number;
  readonly suggestion?: string;

  constructor(
    message: string,
    options: {
      readonly exitCode?: number;
      readonly suggestion?: string;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.exitCode = options.exitCode ?? 2;
    if (options.suggestion !== undefined) this.suggestion = options.suggestion;
  }
}
