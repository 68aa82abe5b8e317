import { metaBytes } from "../cassette/read/read_meta.ts";

/** The text of a `meta.json`. */
export function metaText(path: string): string {
  return new TextDecoder().decode(metaBytes(path));
}
