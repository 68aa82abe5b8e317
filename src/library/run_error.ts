import { asCliError, CliError } from "../cli_error.ts";

/**
 * What kept a run from starting: a flag or a prompt that cannot be honoured, no Claude Code, no login, no folder to
 * work in; or a recording from being replayed.
 *
 * @example Tell what to do about it
 * ```ts
 * import { run, RunError } from "jsr:@claude-print/cli/library";
 *
 * try {
 *   await run("Hello", { args: ["--modle", "haiku"] }).result;
 * } catch (error) {
 *   if (!(error instanceof RunError)) throw error;
 *   console.error(error.message); // Cannot read the command line: unknown flag --modle
 *   console.error(error.suggestion); // Did you mean --model? "claude-print --help" lists all flags
 * }
 * ```
 */
export class RunError extends Error {
  /** The class by its name. */
  override readonly name = "RunError";
  /** The exit code that the program `claude-print` ends with for the same reason. */
  readonly exitCode: number;
  /** What to do about it, in one line. */
  readonly suggestion: string | undefined;

  /**
   * Makes an error; only {@linkcode run} has reason to.
   *
   * @param message names what failed and why, in one line
   * @param options.cause the error that gave rise to it
   */
  constructor(
    message: string,
    options: {
      readonly exitCode?: number;
      readonly suggestion?: string | undefined;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.exitCode = options.exitCode ?? 2;
    this.suggestion = options.suggestion;
  }
}

/** The error that a caller gets: what a user can act on becomes a `RunError`, anything else is passed on as it is. */
export function asRunError(thrown: unknown): unknown {
  if (thrown instanceof RunError) return thrown;
  const error = asCliError(thrown);
  if (!(error instanceof CliError)) return error;
  const { message, exitCode, suggestion } = error;
  return new RunError(message, { exitCode, suggestion, cause: error });
}
