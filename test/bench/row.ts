/** One line of the bench's table. */
export interface Row {
  /** What was measured. */
  readonly what: string;
  /** The measured value with its unit. */
  readonly value: string;
  /** What it is compared with, and that one's value; absent when the target alone says enough. */
  readonly against?: string;
  /** The ratio of the two, or of the value to its target; absent where one is lacking. */
  readonly ratio?: number;
  /** What is aimed at, and whether it was reached. */
  readonly target?: { readonly text: string; readonly ok: boolean };
}

const COLUMNS = [34, 12, 26, 8, 13] as const;

/** A row as a line of fixed columns. */
export function formatRow({ what, value, against = "", ratio, target }: Row): string {
  const verdict = target === undefined ? "" : target.ok ? "ok" : "over";
  return line([
    what,
    value,
    against,
    ratio === undefined ? "" : `${ratio.toFixed(2)} x`,
    target?.text ?? "",
    verdict,
  ]);
}

/** The line above the rows. */
export function formatHeading(): string {
  return line(["measure", "value", "compared with", "ratio", "target", ""]);
}

function line(cells: readonly string[]): string {
  return cells.map((cell, index) => cell.padEnd(COLUMNS[index] ?? 0)).join(" ").trimEnd();
}
