/** How a piece of text looks; a colour that is absent is the picture's own. */
export interface TextStyle {
  /** Colours as CSS has them. */
  readonly ink?: string;
  readonly ground?: string;
  readonly bold?: true;
  readonly dim?: true;
  readonly italic?: true;
  readonly underline?: true;
  readonly strike?: true;
}

/** A character, with what combines with it, and how many cells it takes. */
export interface Glyph {
  readonly text: string;
  readonly cells: number;
}

/** Neighbouring characters of one style. */
export interface StyledText {
  /** The first cell, counted from 0. */
  readonly col: number;
  readonly glyphs: readonly Glyph[];
  readonly style: TextStyle;
}

/** A row of a terminal in a picture; blank cells at its end are left out. */
export type PictureRow = readonly StyledText[];

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
