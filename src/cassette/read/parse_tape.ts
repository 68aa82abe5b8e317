import { z } from "zod/mini";
import type { TapedFrame } from "../cassette.ts";
import { damagedLine, parseLines } from "./parse_lines.ts";

const tapedFrameSchema = z.object({
  at: z.number(),
  frame: z.looseObject({ type: z.string() }),
});

/**
 * Reads the text of a tape's file.
 *
 * @param options.path the file, for errors
 * @throws {CliError} when a line is no frame with its time, with the line's number
 */
export function parseTape(
  text: string,
  options: { readonly path: string },
): readonly TapedFrame[] {
  return parseLines(text, options).map((value, index) => {
    const taped = tapedFrameSchema.safeParse(value);
    if (taped.success) return taped.data;
    throw damagedLine(index + 1, { ...options, what: "it is no frame with its time" });
  });
}
