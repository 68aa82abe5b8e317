import type { TapeEntry } from "../cassette.ts";
import type { ParsedLine } from "./parse_lines.ts";
import { parseTapeEntry } from "./parse_tape.ts";
import { partLines } from "./part_lines.ts";

/**
 * Opens a tape's file, whose entries are read as they are gone through.
 *
 * @param options.limit the largest file that is read, in bytes
 * @returns nothing where there is no such file
 * @throws {CliError} when it is damaged, by way of what is returned
 */
export function openTape(
  path: string,
  options: { readonly limit?: number } = {},
): Generator<TapeEntry, undefined> | undefined {
  const lines = partLines(path, options);
  return lines && entriesIn(lines, path);
}

function* entriesIn(
  lines: Iterable<ParsedLine>,
  path: string,
): Generator<TapeEntry, undefined> {
  let last = 0;
  for (const line of lines) {
    const entry = parseTapeEntry(line, { path, last });
    last = entry.at;
    yield entry;
  }
  return undefined;
}
