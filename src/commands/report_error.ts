import { print } from "./print.ts";

/**
 * Tells a failure on stderr: one line that names it, one that says what to do. An error without a suggestion is
 * a mistake of this program and comes with its stack.
 *
 * @returns the exit code
 */
export function reportError(error: unknown): number {
  const { suggestion, exitCode } = error as {
    readonly suggestion?: unknown;
    readonly exitCode?: unknown;
  };
  const message = error instanceof Error ? error.message : String(error);
  if (typeof suggestion === "string") {
    print(Deno.stderr, `claude-print: ${message}\n  ${suggestion}\n`);
  } else {
    print(Deno.stderr, `claude-print: ${message}\n`);
    if (error instanceof Error && exitCode === undefined) print(Deno.stderr, `${error.stack}\n`);
  }
  return typeof exitCode === "number" ? exitCode : 2;
}
