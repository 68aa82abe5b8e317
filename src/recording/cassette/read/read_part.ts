import { readRegularFile, UnfitFileError } from "../../../../ffi/files/regular_file.ts";
import { leadsOut } from "../../../../ffi/files/leads_out.ts";
import { CliError } from "../../../cli_error.ts";

/** What parts are called: any other file is one that somebody has named. */
const PART = /(?:^|\/)(?:child\.cast|tape\.jsonl|meta\.json)$/u;

/**
 * Reads a part of a cassette, or some of it.
 *
 * @param options.limit the largest file that is read, in bytes
 * @param options.from where to begin, in bytes
 * @param options.most how many bytes are read at most; all by default
 * @returns nothing where there is no such file
 * @throws {CliError} when it cannot be read
 */
export function readPart(
  path: string,
  options: { readonly limit: number; readonly from?: number; readonly most?: number },
): Uint8Array<ArrayBuffer> | undefined {
  if (PART.test(path)) refuseLeadingOut(path);
  try {
    return readRegularFile(path, options);
  } catch (cause) {
    if (cause instanceof Deno.errors.NotFound) return undefined;
    if (!(cause instanceof UnfitFileError)) throw cause;
    throw new CliError(`Cannot read ${path}: ${cause.reason}`, {
      suggestion: NAME_A_CASSETTE,
      cause,
    });
  }
}

/**
 * Makes sure that what is at a path is in the cassette.
 *
 * @throws {CliError} for a link that leads out of it
 */
export function refuseLeadingOut(path: string): void {
  if (!leadsOut(path)) return;
  throw new CliError(`Cannot read ${path}: the link leads out of the cassette`, {
    suggestion: "Name the cassette that it leads to, or put in its place what it leads to",
  });
}

/** What helps where there is no cassette. */
export const NAME_A_CASSETTE = "Name the folder that a run was given with --record";

/** The error for a part that has to be there. */
export function missingPart(path: string, suggestion = NAME_A_CASSETTE): CliError {
  return new CliError(`Cannot read ${path}: it does not exist`, { suggestion });
}
