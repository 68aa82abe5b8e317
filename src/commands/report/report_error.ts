import { deniedError } from "./denied_error.ts";
import { print } from "./print.ts";

/**
 * Tells a failure on stderr: one line that names it, one that says what to do. An error without a suggestion is
 * a mistake of this program and comes with its stack.
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
  const error = deniedError(thrown);
  const { suggestion, exitCode } = error as {
    readonly suggestion?: unknown;
    readonly exitCode?: unknown;
  };
  const message = error instanceof Error ? error.message : String(error);
  if (typeof suggestion === "string") {
    tell(`claude-print: ${label}${message}\n  ${suggestion}\n`);
  } else {
    tell(`claude-print: ${label}${message}\n`);
    if (error instanceof Error && exitCode === undefined) tell(`${error.stack}\n`);
  }
  return typeof exitCode === "number" ? exitCode : 2;
}
