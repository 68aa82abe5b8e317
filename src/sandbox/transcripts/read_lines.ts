import { createLineSplitter } from "../../claude/transcript/line_splitter.ts";
import { readPortions } from "./read_portions.ts";

/**
 * Reads the lines of a transcript of any size, one after the other; the last one may have no end.
 *
 * @throws {UnfitFileError} when it is no regular file, or not to be opened
 * @throws {Deno.errors.NotFound} when there is none
 */
export function* readLines(path: string): Generator<string> {
  const splitter = createLineSplitter();
  for (const bytes of readPortions(path)) yield* splitter.push(bytes);
  const rest = splitter.remainder();
  if (rest !== "") yield rest;
}
