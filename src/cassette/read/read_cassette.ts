import { readRegularFile, UnfitFileError } from "../../../ffi/files/regular_file.ts";
import { CliError } from "../../cli_error.ts";
import { type Cassette, CAST_FILE, TAPE_FILE } from "../cassette.ts";
import { parseCast } from "./parse_cast.ts";
import { parseTape } from "./parse_tape.ts";

/** The largest file that is read, in bytes: the longest string that V8 makes is a little longer. */
const LIMIT = 500_000_000;

/**
 * Reads a cassette from its folder.
 *
 * @throws {CliError} when a file is missing or damaged
 */
export function readCassette(folder: string): Cassette {
  const castPath = `${folder}/${CAST_FILE}`;
  const tapePath = `${folder}/${TAPE_FILE}`;
  const cast = parseCast(readText(castPath), { path: castPath });
  return { cast, tape: parseTape(readText(tapePath), { path: tapePath }) };
}

function readText(path: string): string {
  try {
    return new TextDecoder().decode(readRegularFile(path, { limit: LIMIT }));
  } catch (cause) {
    const isMissing = cause instanceof Deno.errors.NotFound;
    if (!isMissing && !(cause instanceof UnfitFileError)) throw cause;
    const why = isMissing ? "it does not exist" : cause.reason;
    throw new CliError(`Cannot read ${path}: ${why}`, {
      suggestion: "Name the folder that a run was given with --record",
      cause,
    });
  }
}
