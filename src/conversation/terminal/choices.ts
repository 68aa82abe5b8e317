import type { Screen } from "./screen.ts";

/** One choice of a dialog as it stands on the screen. */
export interface Choice {
  /** The choice's words without caret, number and frame; of one that takes several rows, the first row's. */
  readonly text: string;
  /** Whether the caret stands on it; it stands on exactly one of a list. */
  readonly selected: boolean;
}

const CARET = "\u276f";
/** What may stand before a choice's words: frame, caret, arrows of a list that scrolls, the mark of the present choice. */
const GUTTER = /^[\s\u2500-\u257f|\u276f\u2191\u2193\u2714]*/u;
const FRAME = /^[\s\u2500-\u257f|]$/u;
const NUMBER = /^\d+[.)]\s*/u;

/**
 * The choices of the list that the screen's last caret stands in, top to bottom; empty when there is no such list.
 *
 * A prompt line (`❯ ` with the user's text) is a list of one and no dialog. A list with two carets is one dialog being
 * drawn over another: nobody can tell yet where the caret will stand.
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
  // Questions, explanations and the rest of a long choice stand between the gaps too, but in other columns.
  const choices = rows.slice(first, last + 1).filter(({ column, text }) =>
    column === chosen.column && NUMBER.test(text) === NUMBER.test(chosen.text)
  );
  if (choices.length < 2 || choices.filter(({ caret }) => caret).length > 1) return [];
  return choices.map(({ text, caret }) => ({ text: text.replace(NUMBER, ""), selected: caret }));
}

/**
 * The index of the row with the screen's last caret, if the terminal's cursor stands on that caret.
 *
 * Claude Code leaves the cursor there in every dialog, and behind the caret of its input box (2.1.330). On
 * text that only looks like a caret the cursor may stand for a moment, while something else is drawn, but below such
 * text there is always a true one.
 */
export function caretAtCursor({ lines, cursor }: Screen): number | undefined {
  const row = cursor.row - 1;
  if (lines[row]?.[cursor.col - 1] !== CARET) return undefined;
  return lines.slice(cursor.row).some((line) => readRow(line).caret) ? undefined : row;
}

/** The index of the row with the screen's last caret, if the cursor stands behind it in its list: the choice takes words. */
export function editedAtCursor({ lines, cursor }: Screen): number | undefined {
  const row = lines.findLastIndex((line) => readRow(line).caret);
  const words = lines.slice(row, cursor.row);
  const isBehind = row < cursor.row - 1 || (lines[row] ?? "").indexOf(CARET) < cursor.col - 1;
  return row >= 0 && words.length > 0 && isBehind && words.every((line) => line.trim() !== "")
    ? row
    : undefined;
}

/** Without blanks and frame at its end; a search for them from the left would begin again at each blank before it. */
function withoutFrame(text: string): string {
  let end = text.length;
  while (end > 0 && FRAME.test(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

interface Row {
  readonly text: string;
  /** The column in which the words begin. */
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
