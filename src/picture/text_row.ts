import type { PictureRow, TextStyle } from "./picture_row.ts";

/** A row of plain pieces of text, each in a style. */
export function textRow(pieces: readonly (readonly [string, TextStyle])[]): PictureRow {
  let col = 0;
  return pieces.map(([text, style]) => {
    const glyphs = Array.from(new Intl.Segmenter().segment(text), ({ segment }) => ({
      text: segment,
      cells: cellsOf(segment),
    }));
    const span = { col, glyphs, style };
    col += glyphs.reduce((sum, { cells }) => sum + cells, 0);
    return span;
  });
}

/** Emoji, and the scripts whose characters fill a square. */
const WIDE =
  /[\p{Emoji_Presentation}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3000-\u303f\uff01-\uff60]/u;

/** How many cells of a terminal a character takes. */
export function cellsOf(character: string): number {
  return WIDE.test(character) ? 2 : 1;
}
