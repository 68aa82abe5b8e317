import { asCliError, CliError } from "../../cli_error.ts";
import { print } from "./print.ts";

/** How stderr tells of what went wrong: a line that names it, and one that says what to do about it. */
export function problemText(
  { message, suggestion }: { readonly message: string; readonly suggestion?: string | undefined },
  { label = "" }: { readonly label?: string | undefined } = {},
): string {
  const told = `claude-print: ${label}${message}\n`;
  return suggestion === undefined ? told : `${told}  ${suggestion}\n`;
}

/**
 * Tells a failure on stderr: one line that names it, one that says what to do. An error that no user can act on is a
 * mistake of this program and comes with its stack.
 *
 * @param options.label what stands before the message
 * @param options.tell prints a text on stderr
 * @returns the exit code
 */
export function reportError(
  thrown: unknown,
  { label = "", tell = (text) => void print(Deno.stderr, text) }: {
    readonly label?: string | undefined;
    readonly tell?: (text: string) => void;
  } = {},
): number {
  const error = asCliError(thrown);
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof CliError) {
    tell(problemText(error, { label }));
    return error.exitCode;
  }
  tell(problemText({ message }, { label }));
  if (error instanceof Error) tell(`${error.stack}\n`);
  return 2;
}

/** Why nobody can be listened to at an address. */
export function listeningError(
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
