import { readRegularFile, UnfitFileError } from "../../ffi/files/regular_file.ts";
import { isJsonObject, type JsonObject } from "../json_object.ts";

/** The maximum size of a file, in bytes. */
const LIMIT = 16_000_000;

/** The maximum size of `.claude.json`, in bytes. It has an entry for every project. */
const OWN_LIMIT = 128_000_000;

/**
 * Reads a JSON object from a file; undefined if the file is missing, unreadable or holds another value. Files that are not
 * regular are ignored, as Claude Code ignores them (2.1.330).
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
 * Reads `.claude.json` or `.credentials.json`. Claude Code would wait for ever if one of them is a FIFO (2.1.330), so this is
 * an error.
 *
 * @returns undefined if the file is missing or holds another value
 * @throws {UnfitFileError} if it is not a regular file, is too large or cannot be opened
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
