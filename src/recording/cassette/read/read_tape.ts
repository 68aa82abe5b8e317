import type { TapeEntry } from "../cassette.ts";
import { openTape } from "./open_tape.ts";

/** The largest tape that is held as a whole, in bytes: it takes up to three times as much memory. */
const LARGEST_TAPE = 2_000_000_000;

/**
 * Reads a tape's file as a whole, for whoever goes back and forth in it.
 *
 * @param options.largest how large it may be, in bytes
 * @returns nothing where there is no such file
 * @throws {CliError} when it is damaged, or too large to be held
 */
export function readTape(
  path: string,
  { largest = LARGEST_TAPE }: { readonly largest?: number } = {},
): readonly TapeEntry[] | undefined {
  const entries = openTape(path, { limit: largest });
  return entries && [...entries];
}
