import { createLineSplitter } from "../../transcript/line_splitter.ts";

/**
 * The lines of stdin, one a call, and nothing at its end; a last one without its end counts. It is read as fast as it
 * comes, so that nobody waits who writes before reading.
 */
export function linesOfStdin(): () => Promise<string | undefined> {
  const lines: string[] = [];
  let isOver = false;
  let wake = () => {};
  (async () => {
    const splitter = createLineSplitter();
    const take = (more: readonly string[]) => {
      for (const line of more) lines.push(line);
      wake();
    };
    try {
      for await (const bytes of Deno.stdin.readable) take(splitter.push(bytes));
    } catch {
      // A stdin that cannot be read says nothing more.
    }
    isOver = true;
    const last = splitter.remainder();
    take(last === "" ? [] : [last]);
  })();
  return async () => {
    while (lines.length === 0) {
      if (isOver) return undefined;
      await new Promise<void>((resolve) => wake = resolve);
    }
    return lines.shift();
  };
}
