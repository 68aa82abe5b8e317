import { asCliError, CliError } from "../../cli_error.ts";
import type { Outlets } from "./outlets.ts";
import { print } from "./print.ts";
import type { Redactor } from "../../recording/redaction/redact.ts";
import type { RunReport } from "../../run/perform_run.ts";

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

/** Exit code of a run whose output nobody reads any more: it ends as quietly as a program that SIGPIPE ends. */
const ABANDONED = 141;

/** Tells a failure on stderr, with the last screen where it explains more than words. */
export async function tellProblem(
  { problem, screen, exitCode }: Pick<RunReport, "problem" | "screen" | "exitCode">,
  { label, quiet, outlets, loadRedactor }: {
    readonly label: string;
    readonly quiet: boolean;
    readonly outlets: Outlets;
    readonly loadRedactor: () => Promise<Redactor>;
  },
): Promise<void> {
  if (problem === undefined || exitCode === ABANDONED || (quiet && exitCode === 0)) return;
  outlets.tell(problemText(problem, { label }));
  if (screen === undefined) return;
  const { visibleScreen } = await import("../../recording/redaction/visible_screen.ts");
  const rows = visibleScreen(screen, await loadRedactor());
  if (rows.length === 0) return;
  outlets.tell(`  The last screen:\n${rows.map((row) => `  | ${row}\n`).join("")}`);
}
