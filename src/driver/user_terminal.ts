import { listenToSignals } from "../../ffi/processes/own_signals.ts";
import type { WindowSize } from "../../ffi/terminal/pty.ts";
import { terminalSize } from "./effects/terminal_size.ts";

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
