import { readRegularFile, RegularFile } from "../../../ffi/files/regular_file.ts";
import { createLineSplitter } from "../../claude/transcript/line_splitter.ts";

/** The largest transcript that is read, in bytes: the longest string that V8 makes is a little longer. */
const LIMIT = 500_000_000;

/**
 * Reads a transcript, in whose place a tool of the run may have put something else.
 *
 * @param options.from where to begin, in bytes from its start; 0 by default
 * @param options.most how many bytes are read at most; all by default
 * @throws {UnfitFileError} when it is no regular file, too large, or not to be opened
 * @throws {Deno.errors.NotFound} when there is none
 */
export function readTranscript(
  path: string,
  { from = 0, most = LIMIT }: { readonly from?: number; readonly most?: number } = {},
): Uint8Array<ArrayBuffer> {
  return readRegularFile(path, { limit: LIMIT, from, most });
}

/** How much of a file is in memory at a time, in bytes. */
const PORTION = 1_000_000;

/**
 * Reads a transcript of any size piece by piece, the user's links followed. Each piece is gone when the next is asked for.
 *
 * @throws {UnfitFileError} when it is no regular file, or not to be opened
 * @throws {Deno.errors.NotFound} when there is none
 */
export function* readPortions(path: string): Generator<Uint8Array<ArrayBuffer>> {
  using file = new RegularFile(path, { followsLinks: true });
  const portion = new Uint8Array(PORTION);
  for (let at = 0;;) {
    const count = file.read(portion, at);
    if (count === 0) return;
    yield portion.subarray(0, count);
    at += count;
  }
}

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
