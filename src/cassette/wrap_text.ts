import { cellsOf } from "./text_row.ts";

/**
 * Breaks a text into rows of a terminal, between words where that is possible.
 *
 * @param options.cols the width of a row in cells
 * @param options.most the number of rows at which the text is cut, with an ellipsis
 */
export function wrapText(
  text: string,
  { cols, most }: { readonly cols: number; readonly most: number },
): readonly string[] {
  const rows = text.split("\n").flatMap((line) => wrapLine(line, cols));
  if (rows.length <= most) return rows;
  const [last = "", ...before] = rows.slice(0, most).reverse();
  return [...before.reverse(), `${cut(last, cols - 1).first.trimEnd()}…`];
}

function wrapLine(line: string, cols: number): readonly string[] {
  const rows: string[] = [];
  let row = "";
  for (const word of line.match(/\s*\S+/gu) ?? []) {
    if (width(row + word) <= cols) {
      row += word;
      continue;
    }
    if (row !== "") rows.push(row);
    let rest = word.trimStart();
    while (width(rest) > cols) {
      const { first, others } = cut(rest, cols);
      rows.push(first);
      rest = others;
    }
    row = rest;
  }
  return [...rows, row];
}

function cut(text: string, cols: number): { readonly first: string; readonly others: string } {
  let first = "";
  let taken = 0;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    taken += cellsOf(segment);
    if (taken > cols) break;
    first += segment;
  }
  return { first, others: text.slice(first.length) };
}

function width(text: string): number {
  return Array.from(new Intl.Segmenter().segment(text))
    .reduce((sum, { segment }) => sum + cellsOf(segment), 0);
}
