import type { SubagentLine } from "./subagent_source.ts";

/**
 * Puts lines that were written to several transcripts meanwhile into the order of their times. Those of one transcript
 * stay as they are; one without a time belongs to the one before it.
 */
export function inOrder(
  own: readonly string[],
  subagents: readonly SubagentLine[],
): readonly (string | SubagentLine)[] {
  if (subagents.length === 0) return own;
  const timed = [...timesOf(own, (line) => line), ...timesOf(subagents, ({ line }) => line)];
  return timed.sort((one, other) => one.time - other.time).map(({ line }) => line);
}

function timesOf<Line>(
  lines: readonly Line[],
  text: (line: Line) => string,
): readonly { readonly line: Line; readonly time: number }[] {
  let latest = 0;
  return lines.map((line) => {
    const stamp = /"timestamp":"([^"]{20,30})"/u.exec(text(line))?.[1];
    const time = stamp === undefined ? NaN : Date.parse(stamp);
    latest = Math.max(latest, Number.isNaN(time) ? 0 : time);
    return { line, time: latest };
  });
}
