import { RegularFile } from "../../../ffi/files/regular_file.ts";

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
