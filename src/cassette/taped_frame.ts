import type { AnyFrame } from "../wire/frame.ts";

/** A frame of a run as stream-json prints it, and when that was. */
export interface TapedFrame {
  /** Milliseconds since the child was started. */
  readonly at: number;
  readonly frame: AnyFrame;
}
