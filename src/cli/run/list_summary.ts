import { isJsonObject } from "../../json_object.ts";
import type { RunRequest } from "../arguments/run_request.ts";
import { count } from "../report/print.ts";
import { problemText } from "../report/report_error.ts";
import { secondsText, usdText } from "../watch/run_notes.ts";

/** What became of the lines of a list. */
export interface ListState {
  readonly lines: number;
  /** The failed lines with their exit codes, such as `line 3 (75)`. */
  readonly failed: readonly string[];
  readonly usd: number;
}

export const NO_LINES: ListState = { lines: 0, failed: [], usd: 0 };

/** Adds a line that has ended. The cost in a turn of one conversation is that of all its turns. */
export function addLine(
  { lines, failed, usd }: ListState,
  { exitCode, result }: { readonly exitCode: number; readonly result: unknown },
  { number, oneSession }: { readonly number: number; readonly oneSession: boolean },
): ListState {
  const cost = costOf(result);
  return {
    lines: lines + 1,
    failed: exitCode === 0 ? failed : [...failed, `line ${number} (${exitCode})`],
    usd: oneSession ? Math.max(usd, cost) : usd + cost,
  };
}

/** Returns the cost in the result of a line: of the last frame with `--verbose`. */
function costOf(result: unknown): number {
  const last: unknown = Array.isArray(result) ? result.at(-1) : result;
  const usd = isJsonObject(last) ? last["total_cost_usd"] : undefined;
  return typeof usd === "number" ? usd : 0;
}

/** More failed lines are counted. */
const MAX_FAILED = 10;

/** Returns what a person is told at the end of a list; empty if no line was run. */
export function listSummary({ lines, failed, usd }: ListState, elapsedMs: number): string {
  if (lines === 0) return "";
  const more = failed.length - MAX_FAILED;
  const named = [...failed.slice(0, MAX_FAILED), ...(more > 0 ? [`${more} more`] : [])].join(", ");
  const end = failed.length === 0 ? "all succeeded" : `failed (exit code): ${named}`;
  return problemText({
    message: `${count(lines, "line")}, ${secondsText(elapsedMs)}, ${usdText(usd)}; ${end}`,
  });
}

/** Returns how many lines a list has, if it is a regular file; blank lines count. */
export async function countLines(
  { inputFile = "-" }: Pick<RunRequest, "inputFile">,
): Promise<number | undefined> {
  // Opened again, so that the list itself is read from where it stands.
  const path = inputFile === "-" ? "/dev/stdin" : inputFile;
  try {
    if (!(await Deno.stat(path)).isFile) return undefined;
    let ends = 0;
    let last = LINE_FEED;
    for await (const bytes of (await Deno.open(path)).readable) {
      for (const byte of bytes) if (byte === LINE_FEED) ends++;
      last = bytes.at(-1) ?? last;
    }
    return last === LINE_FEED ? ends : ends + 1;
  } catch {
    // The list itself reports the error.
    return undefined;
  }
}

const LINE_FEED = 0x0a;
