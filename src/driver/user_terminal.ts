import { listenToSignals } from "../../ffi/processes/own_signals.ts";
import { DEFAULT_WINDOW_SIZE, type WindowSize, windowSize } from "../../ffi/terminal/pty.ts";
import { LARGEST_SIDE } from "../conversation/terminal/screen.ts";

/** The user's terminal. The child's terminal has its size. */
export interface UserTerminal {
  readonly size: () => WindowSize;
  /** Calls whenever the size may have changed, until it is disposed. */
  readonly listen: (onResize: () => void) => Disposable;
}

/** The terminal of this process. */
export const OWN_TERMINAL: UserTerminal = {
  size: () => terminalSize(),
  listen: (onResize) => listenToSignals(["SIGWINCH"], onResize),
};

/**
 * The size of the user's terminal, at most the largest size that can be rendered; a large default without a terminal.
 *
 * @param streams the descriptors that may be a terminal; the last one that is counts
 */
export function terminalSize(streams: readonly number[] = [0, 1, 2]): WindowSize {
  const sizes = streams.toReversed().map(windowSize);
  const { rows, cols } = sizes.find((size) => size !== undefined) ?? DEFAULT_WINDOW_SIZE;
  return { rows: Math.min(rows, LARGEST_SIDE), cols: Math.min(cols, LARGEST_SIDE) };
}
