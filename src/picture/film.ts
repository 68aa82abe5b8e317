import type { PictureRow } from "./picture_row.ts";

/** An animated picture of a run: a shell above, and the terminal of the child below. */
export interface Film {
  readonly title: string;
  readonly description: string;
  /** The width of both, and the height of each, in character cells. */
  readonly cols: number;
  readonly shellRows: number;
  readonly childRows: number;
  readonly frames: readonly FilmFrame[];
}

/** One picture of it, and how long it stands, in milliseconds. */
export interface FilmFrame {
  readonly ms: number;
  readonly shell: readonly PictureRow[];
  readonly child: readonly PictureRow[];
}
