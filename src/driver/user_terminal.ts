import { listenToSignals } from "../../ffi/processes/own_signals.ts";
import { DEFAULT_WINDOW_SIZE, type WindowSize, windowSize } from "../../ffi/terminal/pty.ts";
import { LARGEST_SIDE } from "../conversation/terminal/screen.ts";

/** The terminal before which whoever started a run may sit: the child's has its size. */
export interface UserTerminal {
  readonly size: () => WindowSize;
  /** Calls whenever it may have another size, until it is disposed. */
  readonly listen: (onResize: () => void) => Disposable;
}

/** The terminal of this program. */
export const OWN_TERMINAL: UserTerminal = {
  size: () => terminalSize(),
  listen: (onResize) => listenToSignals(["SIGWINCH"], onResize),
};

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
