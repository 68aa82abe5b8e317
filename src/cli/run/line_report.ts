import { jsonLine } from "../../claude/wire/json_text.ts";

/** The API had too much to do, or a limit is used up. */
const TRY_LATER = 75;
const TIMED_OUT = 124;
/** The exit codes of a list, the one that matters most first: what trying again does not cure hides what it does. */
const GRAVEST: readonly number[] = [2, 1, TRY_LATER, TIMED_OUT, 0];

/** What became of a line. */
export interface LineReport {
  readonly input: unknown;
  readonly exitCode: number;
  readonly result: unknown;
}

/**
 * What became of a line whose output is known.
 *
 * @param options.output what `--output-format json` prints of it, which may be nothing
 */
export function lineReport(
  { input, output, exitCode }: {
    readonly input: unknown;
    readonly output: string;
    readonly exitCode: number;
  },
): LineReport {
  const result = output === "" ? null : JSON.parse(output);
  return { input, result, exitCode };
}

/** The line of output for the line of that number. */
export function printedLine({ input, exitCode, result }: LineReport, line: number): string {
  return `${jsonLine({ line, input, exit_code: exitCode, result })}\n`;
}

/** The exit code of a list: that of its gravest failure. */
export function gravestExitCode(exitCodes: ReadonlySet<number>): number {
  return GRAVEST.find((exitCode) => exitCodes.has(exitCode)) ?? 2;
}
