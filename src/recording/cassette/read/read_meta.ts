import { CASSETTE_FORMAT, type CassetteMeta } from "../cassette_format.ts";
import { readPart } from "./part_lines.ts";
import { z } from "zod/mini";
import { sideSchema } from "./header_schema.ts";
import { CliError } from "../../../cli_error.ts";
import { isJsonObject } from "../../../json_object.ts";
import { parseJson } from "../../../claude/wire/json_text.ts";

/** The maximum size of `meta.json` in bytes. */
const LARGEST_META = 1_000_000;

/**
 * Reads a `meta.json`.
 *
 * @returns undefined if the file does not exist
 * @throws {CliError} if the file cannot be read, or is damaged or of a later format
 */
export function readMeta(path: string): CassetteMeta | undefined {
  const bytes = metaBytes(path);
  return bytes && parseMeta(new TextDecoder().decode(bytes), { path });
}

/** Returns undefined if the file does not exist. */
export function metaBytes(path: string): Uint8Array<ArrayBuffer> | undefined {
  return readPart(path, { limit: LARGEST_META });
}

const metaSchema: z.ZodMiniType<CassetteMeta> = z.object({
  format: z.int().check(z.positive()),
  claude_print: z.string(),
  claude_code: z.exactOptional(z.string()),
  platform: z.string(),
  size: z.object({ cols: sideSchema, rows: sideSchema }),
  when: z.string(),
  scrubbed: z.record(z.string(), z.number()),
  blanked: z.exactOptional(z.array(z.string())),
  flags: z.exactOptional(z.array(z.string())),
  forked_from: z.exactOptional(z.object({
    cassette: z.string(),
    when: z.exactOptional(z.string()),
    session_id: z.exactOptional(z.string()),
    turn: z.int().check(z.nonnegative()),
  })),
});

/**
 * Parses the text of a `meta.json`.
 *
 * @param options.path the file, for errors
 * @throws {CliError} if the text is invalid or of a later format
 */
export function parseMeta(text: string, { path }: { readonly path: string }): CassetteMeta {
  const value = parseJson(text);
  const { format } = isJsonObject(value) ? value : {};
  if (typeof format === "number" && format > CASSETTE_FORMAT) {
    throw new CliError(
      `Cannot read the cassette: ${path} says that it is of format ${format}, and this claude-print knows those up to ${CASSETTE_FORMAT}`,
      { suggestion: "Use the claude-print that recorded it, or a later one" },
    );
  }
  const meta = metaSchema.safeParse(value);
  if (meta.success) return meta.data;
  throw new CliError(`Cannot read ${path}: it does not say what the cassette is`, {
    suggestion: "Record the run again with --record, or restore the file from a copy",
  });
}

export function metaText(path: string): string {
  return new TextDecoder().decode(metaBytes(path));
}
