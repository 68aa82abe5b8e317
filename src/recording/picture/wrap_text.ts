import { cellsOf } from "./picture_row.ts";

/**
 * Breaks a text into rows of a terminal, between words where that is possible. Of a long text no more is looked at
 * than is shown.
 *
 * @param options.cols the width of a row in cells; a character that is wider than that has a row of its own
 * @param options.most the number of rows at which the text is cut, with an ellipsis
 */
export function wrapText(
  text: string,
  { cols, most }: { readonly cols: number; readonly most: number },
): readonly string[] {
  const rows: string[] = [];
  for (const row of wrappedRows(text, cols)) {
    if (rows.length === most) {
      const last = cut(rows.pop() ?? "", cols - 1).trimEnd();
      return [...rows, `${last}…`];
    }
    rows.push(row);
  }
  return rows;
}

function* wrappedRows(text: string, cols: number): Iterable<string> {
  for (const line of text.split("\n")) {
    let row = "";
    for (const [word] of line.matchAll(/\s*\S+/gu)) {
      if (fits(row + word, cols)) {
        row += word;
        continue;
      }
      if (row !== "") yield row;
      let rest = word.trimStart();
      while (!fits(rest, cols)) {
        const first = cut(rest, cols);
        if (first === rest) break;
        yield first;
        rest = rest.slice(first.length);
      }
      row = rest;
    }
    yield row;
  }
}

/** As much of a text as fits, one character at least. */
function cut(text: string, cols: number): string {
  let length = 0;
  let taken = 0;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    taken += cellsOf(segment);
    if (taken > cols && length > 0) break;
    length += segment.length;
    if (taken > cols) break;
  }
  return text.slice(0, length);
}

function fits(text: string, cols: number): boolean {
  let taken = 0;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    taken += cellsOf(segment);
    if (taken > cols) return false;
  }
  return true;
}
