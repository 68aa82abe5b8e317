import { DRAWING_START, type DrawingState, filterDrawing } from "./drawing_filter.ts";
import { LARGEST_SIDE } from "./screen.ts";

/** Where the filter stands between two chunks. */
export type MirrorState = DrawingState;

/** The filter at the beginning of a terminal's output. */
export const MIRROR_START: MirrorState = DRAWING_START;

/** Undoes whatever a filtered output can have set, on the screen it was shown on. */
export const MIRROR_RESET = "\x1b[?2026l\x1b[?6l\x1b[?7h\x1b[4l\x1b[r\x1b[0m\x1b[?25h";

/** A mirror may have any size, and is on its terminal's other screen already. */
const TARGET = { size: { rows: LARGEST_SIDE, cols: LARGEST_SIDE }, otherScreen: false };

/**
 * What of a child's output the user's terminal may be given to show the same screen.
 *
 * @see filterDrawing for what passes
 */
export function filterForMirror(
  state: MirrorState,
  bytes: Uint8Array,
): { readonly state: MirrorState; readonly text: string } {
  const { state: next, pieces } = filterDrawing(state, bytes, TARGET);
  return { state: next, text: pieces.map(({ text }) => text).join("") };
}
