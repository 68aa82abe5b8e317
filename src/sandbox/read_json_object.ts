import { readRegularFile, UnfitFileError } from "../../ffi/files/regular_file.ts";
import { isJsonObject, type JsonObject } from "../json_object.ts";

/** The largest file that is read, in bytes: whatever 16 MB of JSON become, memory has room for it. */
const LIMIT = 16_000_000;

/** More for the user's own: `.claude.json` keeps something of every project. */
const OWN_LIMIT = 128_000_000;

/**
 * Reads a JSON object from a file; `undefined` when the file is missing, unreadable or holds something else. What is no
 * regular file is left out, as Claude Code leaves it out (2.1.330).
 *
 * @param options.limit the largest file that is read, in bytes; 16 MB by default
 */
export function readJsonObject(
  path: string,
  { limit = LIMIT }: { readonly limit?: number } = {},
): JsonObject | undefined {
  try {
    return readObject(path, limit);
  } catch (error) {
    if (error instanceof UnfitFileError) return undefined;
    throw error;
  }
}

/**
 * Reads `.claude.json` or `.credentials.json`, which Claude Code does not start without: where they are a FIFO it waits
 * for ever (2.1.330).
 *
 * @returns `undefined` when the file is missing or holds something else
 * @throws {UnfitFileError} when it is no regular file, too large, or not to be opened
 */
export function readOwnJsonObject(path: string): JsonObject | undefined {
  return readObject(path, OWN_LIMIT);
}

function readObject(path: string, limit: number): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(readRegularFile(path, { limit })));
    return isJsonObject(value) ? value : undefined;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof SyntaxError) return undefined;
    throw error;
  }
}
