import type { TapedFrame } from "../cassette.ts";
import type { Cast } from "../cast.ts";
import { jsonLine } from "../../wire/json_text.ts";

/** A cast as the text of its file: a header and an event a line, times in seconds. */
export function encodeCast({ header, events }: Cast): string {
  const lines = events.map(({ at, code, data }) =>
    jsonLine([Number((at / 1000).toFixed(6)), code, data])
  );
  return [jsonLine(header), ...lines, ""].join("\n");
}

/** A tape as the text of its file: a frame a line, with its time in milliseconds. */
export function encodeTape(tape: readonly TapedFrame[]): string {
  return tape.map(({ at, frame }) => `${jsonLine({ at: Number(at.toFixed(3)), frame })}\n`).join(
    "",
  );
}
