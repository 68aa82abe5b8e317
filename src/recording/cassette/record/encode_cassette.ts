import type { TapeEntry } from "../cassette.ts";
import type { CassetteMeta } from "../cassette_meta.ts";
import type { CastEvent, CastHeader } from "../cast.ts";
import { jsonLine } from "../../../claude/wire/json_text.ts";

/** The first line of a cast's file. */
export function encodeHeader(header: CastHeader): string {
  return `${jsonLine(header)}\n`;
}

/** An event as a line of a cast's file: its time in seconds. */
export function encodeEvent({ at, code, data }: CastEvent): string {
  return `${jsonLine([Number((at / 1000).toFixed(6)), code, data])}\n`;
}

/** An entry as a line of a tape's file: its time in milliseconds. */
export function encodeEntry({ at, dir, ...payload }: TapeEntry): string {
  return `${asciiJson({ dir, at: Number(at.toFixed(3)), ...payload })}\n`;
}

/**
 * A value as JSON in ASCII, as Python's `json` writes it: what reads a tape there may take more characters for the end of
 * a line than JSON does, and the bytes for those of another encoding.
 */
export function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(/[\x7f-\uffff]/g, escaped);
}

/** What is known of a cassette as the text of its file. */
export function encodeMeta(meta: CassetteMeta): string {
  return `${JSON.stringify(meta, undefined, 2)}\n`;
}

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
