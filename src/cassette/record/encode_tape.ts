import { jsonLine } from "../../wire/json_line.ts";
import type { TapedFrame } from "../taped_frame.ts";

/** A tape as the text of its file: a frame a line, with its time in milliseconds. */
export function encodeTape(tape: readonly TapedFrame[]): string {
  return tape.map(({ at, frame }) => `${jsonLine({ at: Number(at.toFixed(3)), frame })}\n`).join(
    "",
  );
}
