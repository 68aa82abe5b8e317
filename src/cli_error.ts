/** How the system's own words for EMFILE and ENFILE end a message. */
const TOO_MANY_OPEN = /\bToo many open files(?: in system)?(?: \(os error \d+\))?$/u;
const ALLOW_MORE = "Allow more of them in the shell that starts it: ulimit -n 4096";

/**
 * A failure that a user can act on: one line that names the failed action, and what to do instead.
 *
 * `message` names the action first, in the active voice, without a full stop. `suggestion` says what to do about it; it
 * is absent where the user did it, as with a signal; too many open files have one of their own, whatever was done with
 * them. `exitCode` is 2 unless given: this program or its environment failed.
 *
 * `isUnbegun` is set where there is nothing to go on with: `claude -p` ends such a run with the same words, exit code 1,
 * and in stream-json a result of its own kind, with the fields of `claudeVersion`.
 */
export class CliError extends Error {
  override readonly name: string = "CliError";
  readonly exitCode: number;
  readonly suggestion?: string;
  readonly isUnbegun?: true;
  claudeVersion?: string | undefined;

  constructor(
    message: string,
    options: {
      readonly exitCode?: number;
      readonly suggestion?: string;
      readonly isUnbegun?: true;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.exitCode = options.exitCode ?? (options.isUnbegun ? 1 : 2);
    if (options.isUnbegun) this.isUnbegun = true;
    const suggestion = TOO_MANY_OPEN.test(message) ? ALLOW_MORE : options.suggestion;
    if (suggestion !== undefined) this.suggestion = suggestion;
  }
}

/** A failure that lies in what the caller has sent; a result calls it `bad_input`. */
export class BadInputError extends CliError {}

/** An error that a user can act on as one of the user's input. */
export function asBadInput(error: unknown): unknown {
  if (!(error instanceof CliError)) return error;
  const { message, exitCode, suggestion } = error;
  return new BadInputError(message, {
    exitCode,
    cause: error,
    ...(suggestion === undefined ? {} : { suggestion }),
  });
}

/** Something that this program refuses and `claude -p` may do: behind the shim the real claude takes the run over. */
export class UnsupportedError extends CliError {
  /** What was read of stdin, which the real claude has to find there again; absent for nothing. */
  stdin?: string;
}

/** The program as a package; without these flags the folder it is started in could put another in its place. */
const WITH_ALL_ACCESS = "deno run -A --no-config --no-lock jsr:@claude-print/cli";

/**
 * An error as a user is told of it, if a user can act on it: errors of libc's room, which imports nothing and is known by
 * its suggestions, and permissions that this program was not given. Any other error as it is: a mistake of this program.
 */
export function asCliError(error: unknown): unknown {
  if (error instanceof CliError || !(error instanceof Error)) return error;
  if (error instanceof Deno.errors.NotCapable) return deniedError(error);
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
 * The executable has a list of permissions. It is complete but for `/dev`, `/proc` and `/sys`, whose files Deno opens
 * only to a program that has every permission.
 */
function deniedError(error: Error): CliError {
  const [, lacking = "a permission"] =
    /^Requires (.+?)(?:, (?:specify|run) |$)/u.exec(error.message) ?? [];
  return new CliError(`Cannot go on: this program was not given ${lacking}`, {
    suggestion: /"\/(?:dev|proc|sys)\//u.test(lacking)
      ? `Use folders outside of /dev, /proc and /sys, or run ${WITH_ALL_ACCESS}`
      : `Run ${WITH_ALL_ACCESS}, and report this line`,
    cause: error,
  });
}
