import { isJsonObject } from "../../json_object.ts";
import type { RunRequest } from "../arguments/run_request.ts";
import { count } from "../report/print.ts";
import { problemText } from "../report/report_error.ts";
import { secondsText, usdText } from "../watch/run_notes.ts";

/** The outcome of the lines of a list. */
export interface ListState {
  readonly lines: number;
  /** The failed lines with their exit codes, such as `line 3 (75)`. */
  readonly failed: readonly string[];
  readonly usd: number;
}

export const NO_LINES: ListState = { lines: 0, failed: [], usd: 0 };

/** Adds a line that has ended. In one conversation, the cost of a turn includes the earlier turns. */
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

/** Returns the cost in the result of a line; with `--verbose`, in its last frame. */
function costOf(result: unknown): number {
  const last: unknown = Array.isArray(result) ? result.at(-1) : result;
  const usd = isJsonObject(last) ? last["total_cost_usd"] : undefined;
  return typeof usd === "number" ? usd : 0;
}

/** The maximum number of named failed lines. Further ones are only counted. */
const MAX_FAILED = 10;

/** Returns the summary for a person at the end of a list; empty if no line was run. */
export function listSummary({ lines, failed, usd }: ListState, elapsedMs: number): string {
  if (lines === 0) return "";
  const more = failed.length - MAX_FAILED;
  const named = [...failed.slice(0, MAX_FAILED), ...(more > 0 ? [`${more} more`] : [])].join(", ");
  const end = failed.length === 0 ? "all succeeded" : `failed (exit code): ${named}`;
  return problemText({
    message: `${count(lines, "line")}, ${secondsText(elapsedMs)}, ${usdText(usd)}; ${end}`,
  });
}

/** Returns the number of lines of a list, if it is a regular file. Blank lines count. */
export async function countLines(
  { inputFile = "-" }: Pick<RunRequest, "inputFile">,
): Promise<number | undefined> {
  // The file is opened again, so that the list is still read from its current position.
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
    // Reading the list reports the error.
    return undefined;
  }
}

const LINE_FEED = 0x0a;
