import { readRegularFile } from "../../../ffi/files/regular_file.ts";

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
