import type { CassetteMeta } from "../cassette_meta.ts";
import { parseMeta } from "./parse_meta.ts";
import { readPart } from "./read_part.ts";

/** The largest `meta.json` that is read, in bytes. */
const LARGEST_META = 1_000_000;

/**
 * Reads what a cassette says of itself.
 *
 * @returns nothing where there is no such file
 * @throws {CliError} when it cannot be read, is of a later format or damaged
 */
export function readMeta(path: string): CassetteMeta | undefined {
  const bytes = metaBytes(path);
  return bytes && parseMeta(new TextDecoder().decode(bytes), { path });
}

/** The bytes of a `meta.json`; nothing where there is none. */
export function metaBytes(path: string): Uint8Array<ArrayBuffer> | undefined {
  return readPart(path, { limit: LARGEST_META });
}
