import type { Screen } from "./screen.ts";

/** One choice of a dialog on the screen. */
export interface Choice {
  /** The choice's text without caret, number and frame. If it takes several rows, the text of the first row. */
  readonly text: string;
  /** Whether the caret is on the choice. Exactly one choice of a list has the caret. */
  readonly selected: boolean;
}

const CARET = "\u276f";
/**
 * The characters that may precede a choice's text: frame, caret, arrows of a scrolling list, the mark of the current
 * choice.
 */
const GUTTER = /^[\s\u2500-\u257f|\u276f\u2191\u2193\u2714]*/u;
const FRAME = /^[\s\u2500-\u257f|]$/u;
const NUMBER = /^\d+[.)]\s*/u;

/**
 * The choices of the list with the screen's last caret, from top to bottom; empty if there is no such list.
 *
 * A prompt line (`❯ ` with the user's text) is a list of one entry and no dialog. A list with two carets means that one
 * dialog is being drawn over another; the final position of the caret is unknown.
 */
export function readChoices(screen: Screen): readonly Choice[] {
  const rows = screen.lines.map(readRow);
  const caretRow = rows.findLastIndex(({ caret }) => caret);
  const chosen = rows[caretRow];
  if (chosen === undefined) return [];
  const isGap = (row: number) => rows[row] === undefined || rows[row].text === "";
  let first = caretRow;
  while (!isGap(first - 1)) first--;
  let last = caretRow;
  while (!isGap(last + 1)) last++;
  // Questions, explanations and the rest of a long choice are also between the gaps, but in other columns.
  const choices = rows.slice(first, last + 1).filter(({ column, text }) =>
    column === chosen.column && NUMBER.test(text) === NUMBER.test(chosen.text)
  );
  if (choices.length < 2 || choices.filter(({ caret }) => caret).length > 1) return [];
  return choices.map(({ text, caret }) => ({ text: text.replace(NUMBER, ""), selected: caret }));
}

/**
 * The index of the row with the screen's last caret, if the terminal's cursor is on that caret.
 *
 * Claude Code leaves the cursor there in every dialog, and behind the caret of its input box (2.1.330). The cursor may
 * be on text that only looks like a caret for a moment, while other parts are drawn. But a true caret is always below
 * such text.
 */
export function caretAtCursor({ lines, cursor }: Screen): number | undefined {
  const row = cursor.row - 1;
  if (lines[row]?.[cursor.col - 1] !== CARET) return undefined;
  return lines.slice(cursor.row).some((line) => readRow(line).caret) ? undefined : row;
}

/**
 * The index of the row with the screen's last caret, if the cursor is behind the caret in its list. Then the choice
 * accepts text.
 */
export function editedAtCursor({ lines, cursor }: Screen): number | undefined {
  const row = lines.findLastIndex((line) => readRow(line).caret);
  const words = lines.slice(row, cursor.row);
  const isBehind = row < cursor.row - 1 || (lines[row] ?? "").indexOf(CARET) < cursor.col - 1;
  return row >= 0 && words.length > 0 && isBehind && words.every((line) => line.trim() !== "")
    ? row
    : undefined;
}

/**
 * The text without blanks and frame at its end. It searches from the right, because a search from the left would
 * restart at each blank.
 */
function withoutFrame(text: string): string {
  let end = text.length;
  while (end > 0 && FRAME.test(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

interface Row {
  readonly text: string;
  /** The column in which the text begins. */
  readonly column: number;
  readonly caret: boolean;
}

function readRow(line: string): Row {
  const gutter = GUTTER.exec(line)?.[0] ?? "";
  return {
    text: withoutFrame(line.slice(gutter.length)),
    column: gutter.length,
    caret: gutter.includes(CARET),
  };
}
