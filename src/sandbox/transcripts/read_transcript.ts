import { readRegularFile, RegularFile } from "../../../ffi/files/regular_file.ts";
import { createLineSplitter } from "../../claude/transcript/line_splitter.ts";

/** The maximum size of a transcript, in bytes: a little less than V8's longest string. */
const LIMIT = 500_000_000;

/**
 * Reads a transcript. A tool of the run may have replaced the file.
 *
 * @param options.from where to begin, in bytes from its start; 0 by default
 * @param options.most how many bytes are read at most; all by default
 * @throws {UnfitFileError} if it is not a regular file, is too large or cannot be opened
 * @throws {Deno.errors.NotFound} if it does not exist
 */
export function readTranscript(
  path: string,
  { from = 0, most = LIMIT }: { readonly from?: number; readonly most?: number } = {},
): Uint8Array<ArrayBuffer> {
  return readRegularFile(path, { limit: LIMIT, from, most });
}

/** The size of a piece, in bytes. */
const PORTION = 1_000_000;

/**
 * Reads a transcript of any size piece by piece, and follows links. The next piece overwrites the one before.
 *
 * @throws {UnfitFileError} if it is not a regular file or cannot be opened
 * @throws {Deno.errors.NotFound} if it does not exist
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
 * Reads the lines of a transcript of any size one by one. The last line may be incomplete.
 *
 * @throws {UnfitFileError} if it is not a regular file or cannot be opened
 * @throws {Deno.errors.NotFound} if it does not exist
 */
export function* readLines(path: string): Generator<string> {
  const splitter = createLineSplitter();
  for (const bytes of readPortions(path)) yield* splitter.push(bytes);
  const rest = splitter.remainder();
  if (rest !== "") yield rest;
}
