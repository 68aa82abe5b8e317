import { CassetteError } from "./cassette_error.ts";
import { type Cassette, CAST_FILE, TAPE_FILE } from "./cassette.ts";
import { parseCast } from "./parse_cast.ts";
import { parseTape } from "./parse_tape.ts";

/**
 * Reads a cassette from its folder.
 *
 * @throws {CassetteError} when a file is missing or damaged
 */
export async function readCassette(folder: string): Promise<Cassette> {
  const castPath = `${folder}/${CAST_FILE}`;
  const tapePath = `${folder}/${TAPE_FILE}`;
  const cast = parseCast(await readText(castPath), { path: castPath });
  return { cast, tape: parseTape(await readText(tapePath), { path: tapePath }) };
}

async function readText(path: string): Promise<string> {
  try {
    return await Deno.readTextFile(path);
  } catch (cause) {
    const isMissing = cause instanceof Deno.errors.NotFound ||
      cause instanceof Deno.errors.NotADirectory;
    const why = isMissing ? "it does not exist" : (cause as Error).message;
    throw new CassetteError(`Cannot read ${path}: ${why}`, {
      suggestion: "Name the folder that a run was given with --record",
      cause,
    });
  }
}
