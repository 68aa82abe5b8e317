import { definedFields } from "./defined_fields.ts";
/** Exit codes besides 0, 1 (the assistant or the API failed) and 2 (this program or its environment failed). */
export const EXIT = {
  /** A limit is used up, or the API is too busy: EX_TEMPFAIL of sysexits(3). */
  tryLater: 75,
  timedOut: 124,
  /** The reader of stdout is gone. */
  abandoned: 141,
  /** Added to the number of the signal that ended the run; every code above it means a signal. */
  signal: 128,
} as const;

/** The end of a message in which the system reports EMFILE or ENFILE. */
const TOO_MANY_OPEN = /\bToo many open files(?: in system)?(?: \(os error \d+\))?$/u;
const RAISE_FILE_LIMIT = "Allow more of them in the shell that starts it: ulimit -n 4096";

/**
 * A failure that a user can act on.
 *
 * `message` is one line that names the failed action first, in the active voice, without a full stop. `suggestion` says
 * what to do about it; it is absent where the user caused the failure, as with a signal. Too many open files have a
 * suggestion of their own. `exitCode` is 2 by default.
 *
 * `failedBeforeStart` is set where no session could begin or continue. `claude -p` ends such a run with the same words,
 * with exit code 1, and in stream-json with a shorter result, which contains `claudeVersion`.
 */
export class CliError extends Error {
  override readonly name: string = "CliError";
  readonly exitCode: number;
  readonly suggestion?: string;
  readonly failedBeforeStart?: true;
  claudeVersion?: string | undefined;

  constructor(
    message: string,
    options: {
      readonly exitCode?: number;
      readonly suggestion?: string;
      readonly failedBeforeStart?: true;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.exitCode = options.exitCode ?? (options.failedBeforeStart ? 1 : 2);
    if (options.failedBeforeStart) this.failedBeforeStart = true;
    const suggestion = TOO_MANY_OPEN.test(message) ? RAISE_FILE_LIMIT : options.suggestion;
    if (suggestion !== undefined) this.suggestion = suggestion;
  }
}

/** A failure in the caller's input; the result calls it `bad_input`. */
export class BadInputError extends CliError {}

/** Turns a `CliError` into a `BadInputError`, and returns every other error as it is. */
export function toBadInputError(error: unknown): unknown {
  if (!(error instanceof CliError)) return error;
  const { message, exitCode, suggestion } = error;
  return new BadInputError(message, {
    exitCode,
    cause: error,
    ...definedFields({ suggestion }),
  });
}

/** This program refuses something that `claude -p` may do. A run that the shim started is then left to the real claude. */
export class UnsupportedError extends CliError {
  /** The text that was already read from stdin, which the real claude must find there again; absent for none. */
  stdin?: string;
}

/** Runs this program as a package. Without these flags, a `deno.json` in the current folder could replace it. */
const RUN_WITH_ALL_PERMISSIONS = "deno run -A --no-config --no-lock jsr:@claude-print/cli";

/**
 * Turns errors of `ffi` and missing permissions into a `CliError`. `ffi` cannot import `CliError`: its errors are known by
 * their `suggestion`. Any other error is a bug of this program and returned as it is.
 */
export function toCliError(error: unknown): unknown {
  if (error instanceof CliError || !(error instanceof Error)) return error;
  if (error instanceof Deno.errors.NotCapable) return permissionError(error);
  const { suggestion, exitCode } = error as {
    readonly suggestion?: unknown;
    readonly exitCode?: unknown;
  };
  if (typeof suggestion !== "string") return error;
  return new CliError(error.message, {
    suggestion,
    ...(typeof exitCode === "number" ? { exitCode } : {}),
    cause: error,
  });
}

/**
 * The executable's list of permissions is complete except for `/dev`, `/proc` and `/sys`: Deno opens files there only for
 * a program that has every permission.
 */
function permissionError(error: Error): CliError {
  const [, permission = "a permission"] =
    /^Requires (.+?)(?:, (?:specify|run) |$)/u.exec(error.message) ?? [];
  return new CliError(`Cannot go on: this program was not given ${permission}`, {
    suggestion: /"\/(?:dev|proc|sys)\//u.test(permission)
      ? `Use folders outside of /dev, /proc and /sys, or run ${RUN_WITH_ALL_PERMISSIONS}`
      : `Run ${RUN_WITH_ALL_PERMISSIONS}, and report this line`,
    cause: error,
  });
}
