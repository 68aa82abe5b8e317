import { CliError, toCliError } from "../../cli_error.ts";
import { print } from "./print.ts";

/** The target of {@linkcode reportError}: an `Outlets`, or stderr itself. */
export interface Notified {
  /** Prints a text on stderr. */
  notify(text: string): void;
}

const OWN_STDERR: Notified = { notify: (text) => void print(Deno.stderr, text) };

/** Formats a failure for stderr: one line that names it, and an indented line with the remedy. */
export function problemText(
  { message, suggestion }: { readonly message: string; readonly suggestion?: string | undefined },
  { label = "" }: { readonly label?: string | undefined } = {},
): string {
  // Some messages come from `claude -p`, and begin with "Error: ".
  const first = `claude-print: ${label}${message.replace(/^Error: /u, "")}\n`;
  return suggestion === undefined ? first : `${first}  ${suggestion}\n`;
}

/** Formats a warning for stderr. */
export function warningText(warning: string, label = ""): string {
  return `claude-print: ${label}Warning: ${warning}\n`;
}

/**
 * Prints an error on stderr. An error that is no `CliError` is a bug of this program and is printed with its stack.
 *
 * @param options.label precedes the message
 * @returns the exit code
 */
export function reportError(
  thrown: unknown,
  { label = "", outlets = OWN_STDERR }: {
    readonly label?: string | undefined;
    readonly outlets?: Notified;
  } = {},
): number {
  const error = toCliError(thrown);
  if (error instanceof CliError) {
    outlets.notify(problemText(error, { label }));
    return error.exitCode;
  }
  const message = error instanceof Error ? error.message : String(error);
  outlets.notify(problemText({ message }, { label }));
  if (error instanceof Error) outlets.notify(`${error.stack}\n`);
  return 2;
}

/** The error for an address on which a server cannot listen. */
export function listenError(
  cause: unknown,
  { hostname, port, suggestion }: {
    readonly hostname: string;
    readonly port: number;
    readonly suggestion: string;
  },
): CliError {
  const why = cause instanceof Deno.errors.AddrInUse
    ? "the port is taken"
    : (cause as Error).message;
  return new CliError(`Cannot listen on ${hostname}, port ${port}: ${why}`, { suggestion, cause });
}
