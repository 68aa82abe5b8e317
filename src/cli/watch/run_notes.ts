import type { ResultFrame } from "../../claude/wire/result_frame.ts";
import { count } from "../report/print.ts";
import { problemText } from "../report/report_error.ts";
import { callText, durationText } from "./live_line.ts";
import { shownCall } from "./progress.ts";

/** The maximum number of named denied calls. Further ones are only counted. */
const MAX_CALLS = 5;
/** The maximum number of columns of a denied call. */
const MAX_COLUMNS = 76;

/** The known facts at the end of a run. */
interface RunFacts {
  /** The results of all turns. */
  readonly results: readonly ResultFrame[];
  readonly elapsedMs: number;
  /** The working directory. Files below it are named relative to it. */
  readonly cwd: string;
  /** Whether the session can be continued. */
  readonly isKept: boolean;
}

/**
 * Returns the notes on stderr for a person at a terminal after a run in text format: denied calls and the flag that
 * allows them, then one line with time, cost, turns and how to continue. Empty if the model received no request.
 */
export function runNotes({ results, elapsedMs, cwd, isKept }: RunFacts): string {
  const turns = results.filter((result, at) => !isRepeated(result, results[at - 1]))
    .reduce((sum, { num_turns }) => sum + num_turns, 0);
  const last = results.at(-1);
  if (last === undefined || turns === 0) return "";
  const { total_cost_usd: usd, session_id: session } = last;
  const facts = [
    secondsText(elapsedMs),
    ...(usd === undefined ? [] : [usdText(usd)]),
    count(turns, "turn"),
  ];
  const next = isKept ? `; continue with --resume ${session}` : `; session ${session}`;
  return denialsText(results, cwd) + problemText({ message: `${facts.join(", ")}${next}` });
}

/**
 * Whether a run was cut short while it waited for background tasks. Then the last result belongs to the previous turn.
 */
function isRepeated(result: ResultFrame, previous: ResultFrame | undefined): boolean {
  return result.subtype !== "success" && result.result !== undefined &&
    result.result === previous?.result && result.num_turns === previous.num_turns;
}

function denialsText(results: readonly ResultFrame[], cwd: string): string {
  const denials = results.flatMap(({ permission_denials: denied = [] }) => denied);
  if (denials.length === 0) return "";
  const calls = denials.slice(0, MAX_CALLS).map(({ tool_name: name, tool_input: input }) =>
    callText(shownCall(name, input), { cwd, columns: MAX_COLUMNS })
  );
  const more = denials.length - calls.length;
  const tools = [...new Set(denials.map(({ tool_name: name }) => name))];
  const lines = [
    ...calls,
    ...(more > 0 ? [`and ${more} more`] : []),
    `To allow them: --allowedTools=${tools.join(",")} (deny rules and hooks still count)`,
  ];
  const number = denials.length;
  const message = `${count(number, "tool call")} ${number === 1 ? "was" : "were"} denied`;
  return problemText({ message, suggestion: lines.join("\n  ") });
}

/** A duration in seconds, with a decimal if it is short. */
export function secondsText(elapsedMs: number): string {
  return elapsedMs < 9950 ? `${(elapsedMs / 1000).toFixed(1)} s` : durationText(elapsedMs);
}

/** Formats a cost as Claude Code does: four decimals below half a dollar. */
export function usdText(usd: number): string {
  return usd === 0 ? "$0" : `$${usd.toFixed(usd < 0.5 ? 4 : 2)}`;
}
