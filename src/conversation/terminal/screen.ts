/**
 * Most rows, and most columns, of a terminal: more than a screen has room for, and few enough that drawing all of it
 * takes no time worth speaking of.
 */
export const LARGEST_SIDE = 1000;

/** A rendered terminal: its rows from top to bottom without trailing blanks, and the cursor, counted from 1. */
export interface Screen {
  readonly lines: readonly string[];
  readonly cursor: { readonly row: number; readonly col: number };
}

/** The screen's words with all white space removed: the TUI moves the cursor where a person sees a blank. */
export function compactText(screen: Screen): string {
  return screen.lines.join("").replace(/\s+/gu, "");
}

/** Whether nothing is to be seen. */
export function isBlank(screen: Screen): boolean {
  return screen.lines.every((line) => line.trim() === "");
}
