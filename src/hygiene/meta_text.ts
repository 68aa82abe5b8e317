import { readPart } from "../cassette/read/read_part.ts";

/** The largest `meta.json` that is read, in bytes. */
const LARGEST_META = 1_000_000;

/** The text of a `meta.json`. */
export function metaText(path: string): string {
  return new TextDecoder().decode(readPart(path, { limit: LARGEST_META }));
}
