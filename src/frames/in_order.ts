import type { Subagent, SubagentLine } from "../session/input.ts";
import type { Entry } from "../transcript/entry.ts";

/** A line of the session's own transcript, or of a subagent's. */
export interface WrittenLine {
  readonly entry: Entry;
  readonly subagent?: Subagent;
}

/**
 * Puts lines that were written to several transcripts meanwhile into the order of their times. Those of one transcript
 * stay as they are; one without a time belongs to the one before it.
 */
export function inOrder(
  own: readonly Entry[],
  subagents: readonly SubagentLine[],
): readonly WrittenLine[] {
  const lines = own.map((entry) => ({ entry }));
  if (subagents.length === 0) return lines;
  return [...timed(lines), ...timed(subagents)].sort((one, other) => one.time - other.time)
    .map(({ line }) => line);
}

function timed(
  lines: readonly WrittenLine[],
): readonly { readonly line: WrittenLine; readonly time: number }[] {
  let latest = 0;
  return lines.map((line) => {
    const { entry } = line;
    const stamp = entry.type === "other" ? entry.line.timestamp : entry.timestamp;
    const time = typeof stamp === "string" ? Date.parse(stamp) : NaN;
    latest = Math.max(latest, Number.isNaN(time) ? 0 : time);
    return { line, time: latest };
  });
}
