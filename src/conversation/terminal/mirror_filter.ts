import { DRAWING_START, type DrawingState, filterDrawing } from "./drawing_filter.ts";
import { LARGEST_SIDE } from "./screen.ts";

/** The state of the filter between two chunks. */
export type MirrorState = DrawingState;

/** The filter at the beginning of a terminal's output. */
export const MIRROR_START: MirrorState = DRAWING_START;

/** Resets every mode that a filtered output can have set, on the screen on which it was shown. */
export const MIRROR_RESET = "\x1b[?2026l\x1b[?6l\x1b[?7h\x1b[4l\x1b[r\x1b[0m\x1b[?25h";

/** A mirror may have any size, and is already on its terminal's alternate screen. */
const TARGET = { size: { rows: LARGEST_SIDE, cols: LARGEST_SIDE }, otherScreen: false };

/**
 * The output of Claude Code between two words: blanks, colours, cursor movement, and the beginning of the next row of a
 * notice.
 */
const GAP = String.raw`(?:\x1b\[[\d;]{0,20}[mG]|[\s\u258e]){1,9}`;
/** The notice of a debug log in the private folder of a run, see `withoutOwnNotice()`. */
const OWN_LOG_NOTICE = new RegExp(
  ["\u258e", "Debug", "mode", "enabled", "\u00b7", "logging", "to", "/"].join(GAP) +
    String.raw`[^\x1b\s]{1,300}/own/debug\.log`,
  "gu",
);
// deno-lint-ignore no-control-regex
const LOOKS = /\x1b\[[\d;]*m|[\r\n]+/gu;

/**
 * Returns the part of the child's output that the user's terminal may receive, so that it shows the same screen.
 *
 * Leaves out the notice of our own debug log if it comes in one chunk, as Claude Code writes it (2.1.332).
 *
 * @see filterDrawing for the escape sequences that pass
 */
export function filterForMirror(
  state: MirrorState,
  bytes: Uint8Array,
): { readonly state: MirrorState; readonly text: string } {
  const { state: next, pieces } = filterDrawing(state, bytes, TARGET);
  const text = pieces.map((piece) => piece.text).join("");
  const shown = text.replace(OWN_LOG_NOTICE, (notice) => (notice.match(LOOKS) ?? []).join(""));
  return { state: next, text: shown };
}
