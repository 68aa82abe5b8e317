import type { PlayedCast } from "../cast.ts";
import { parseEvents, parseHeader } from "./parse_cast.ts";
import { damagedLine } from "./parse_lines.ts";
import { partLines } from "./part_lines.ts";

/**
 * Opens a cast's file, whose events are read as they are gone through.
 *
 * @returns nothing where there is no such file
 * @throws {CliError} when it is damaged, for the events by way of what is returned
 */
export function openCast(path: string): PlayedCast | undefined {
  const lines = partLines(path);
  if (lines === undefined) return undefined;
  const first = lines.next();
  if (first.done) throw damagedLine(1, { path, what: "the header is missing" });
  const header = parseHeader(first.value, { path });
  return { header, events: parseEvents(lines, { path, header }) };
}
