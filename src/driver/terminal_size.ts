import { DEFAULT_WINDOW_SIZE, type WindowSize, windowSize } from "../../ffi/window_size.ts";

/** The size of the user's terminal, whichever of the standard streams it is; without one a roomy default. */
export function terminalSize(): WindowSize {
  return windowSize(2) ?? windowSize(1) ?? windowSize(0) ?? DEFAULT_WINDOW_SIZE;
}
