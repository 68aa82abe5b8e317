import { DEFAULT_WINDOW_SIZE, type WindowSize, windowSize } from "../../../ffi/terminal/pty.ts";
import { LARGEST_SIDE } from "../../conversation/terminal/screen.ts";

/**
 * The size of the user's terminal, whichever of the standard streams it is, as far as it can be drawn; without one a
 * roomy default.
 *
 * @param streams the fds of stdin, stdout and stderr
 */
export function terminalSize(streams: readonly number[] = [0, 1, 2]): WindowSize {
  const sizes = streams.toReversed().map(windowSize);
  const { rows, cols } = sizes.find((size) => size !== undefined) ?? DEFAULT_WINDOW_SIZE;
  return { rows: Math.min(rows, LARGEST_SIDE), cols: Math.min(cols, LARGEST_SIDE) };
}
