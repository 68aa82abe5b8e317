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
export interface TextSpan {
  /** The first cell, counted from 0. */
  readonly col: number;
  readonly glyphs: readonly Glyph[];
  readonly style: TextStyle;
}

/** A row of a terminal in a picture; blank cells at its end are left out. */
export type PictureRow = readonly TextSpan[];
