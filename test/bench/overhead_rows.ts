import type { Row } from "./row.ts";

/** What bare TUIs took in the same rounds, in milliseconds. */
export interface BareTimes {
  /** Of one that leaves out of its start what a run leaves out. */
  readonly alikeMs: number;
  /** Of Claude Code as it comes. */
  readonly plainMs: number;
}

/** What a run took longer than a bare TUI: than one with its own settings, and than Claude Code as it comes. */
export function overheadRows(
  wallMs: number,
  { alikeMs, plainMs }: BareTimes,
  { what, maxMs }: { readonly what: string; readonly maxMs: number },
): readonly Row[] {
  return [
    { what, against: "bare TUI", bareMs: alikeMs },
    { what: "  the same", against: "one as it comes", bareMs: plainMs },
  ].map(({ what, against, bareMs }) => {
    const overheadMs = wallMs - bareMs;
    return {
      what,
      value: `${overheadMs.toFixed(0)} ms`,
      against: `${against}, ${bareMs.toFixed(0)} ms`,
      ratio: overheadMs / bareMs,
      target: { text: `<= ${maxMs} ms`, ok: overheadMs <= maxMs },
    };
  });
}
