import { DEFAULT_WINDOW_SIZE, type WindowSize, windowSize } from "../../../ffi/terminal/pty.ts";
import { LARGEST_SIDE } from "../../session/terminal/screen.ts";

/**
 * The size of the user's terminal, whichever of the standard streams it is, as far as it can be drawn; without one a
 * roomy default.
 */
export function terminalSize(): WindowSize {
  const { rows, cols } = windowSize(2) ?? windowSize(1) ?? windowSize(0) ?? DEFAULT_WINDOW_SIZE;
  return { rows: Math.min(rows, LARGEST_SIDE), cols: Math.min(cols, LARGEST_SIDE) };
}
