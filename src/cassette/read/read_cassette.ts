import { CliError } from "../../cli_error.ts";
import { type Cassette, CAST_FILE, META_FILE, TAPE_FILE } from "../cassette.ts";
import { parseCast } from "./parse_cast.ts";
import { parseMeta } from "./parse_meta.ts";
import { parseTape } from "./parse_tape.ts";
import { NAME_A_CASSETTE, readPart } from "./read_part.ts";

/** The largest file that is read, in bytes: the longest string that V8 makes is a little longer. */
const LIMIT = 500_000_000;

/**
 * Reads a cassette from its folder.
 *
 * @throws {CliError} when a file is missing or damaged
 */
export function readCassette(folder: string): Cassette {
  const [metaPath, castPath, tapePath] = [META_FILE, CAST_FILE, TAPE_FILE].map((name) =>
    `${folder}/${name}`
  ) as [string, string, string];
  const meta = textOf(metaPath);
  return {
    ...(meta === undefined ? {} : { meta: parseMeta(meta, { path: metaPath }) }),
    cast: parseCast(required(castPath), { path: castPath }),
    tape: parseTape(required(tapePath), { path: tapePath }),
  };
}

function required(path: string): string {
  const text = textOf(path);
  if (text !== undefined) return text;
  throw new CliError(`Cannot read ${path}: it does not exist`, { suggestion: NAME_A_CASSETTE });
}

function textOf(path: string): string | undefined {
  const bytes = readPart(path, { limit: LIMIT });
  return bytes && new TextDecoder().decode(bytes);
}
