import type { ParsedLine } from "../read/parse_lines.ts";
import { parseTapeEntry } from "../read/parse_tape.ts";
import { isJsonObject, type JsonObject } from "../../../json_object.ts";
import { isTooDeep } from "../../../claude/wire/json_text.ts";
import { asciiJson } from "../record/encode_cassette.ts";
import type { PartScrubber } from "./part_scrubber.ts";
import { type ScrubbedLine, scrubStreams } from "./scrub_streams.ts";

/**
 * Scrubs the lines of a tape's file, in whichever of the formats that `parseTape()` reads.
 *
 * @param options.path the file, for errors
 * @param options.take takes each line
 * @throws {CliError} as `parseEntry()` does
 */
export function scrubTape(
  lines: Iterable<ParsedLine>,
  { path, scrubber, take }: {
    readonly path: string;
    readonly scrubber: PartScrubber;
    readonly take: (line: ScrubbedLine) => void;
  },
): void {
  const { queue, add } = scrubStreams(scrubber, take);
  for (const line of lines) {
    const entry = parseTapeEntry(line, { path, last: 0 });
    // What parseTapeEntry() has read is an object.
    const value = line.value as JsonObject;
    const before = asciiJson(value);
    const lineOf = (scrubbed: JsonObject) => {
      const text = asciiJson(scrubbed);
      return text === before
        ? { number: line.number, text: line.text, changed: false }
        : { number: line.number, text, changed: true };
    };
    if (entry.dir === "write") {
      queue.add(lineOf(besides(value, { data: scrubLine(entry.data, scrubber) }, scrubber)));
      continue;
    }
    const isWrapped = isJsonObject(value["frame"]) && value["frame"] === entry.frame;
    add(
      entry.frame,
      (frame) => lineOf(isWrapped ? besides(value, { frame }, scrubber) : frame),
    );
  }
  queue.end();
}

/** An entry with parts of it that have been scrubbed, and all that stands beside them. */
function besides(entry: JsonObject, parts: JsonObject, scrubber: PartScrubber): JsonObject {
  const rest = Object.fromEntries(
    Object.entries(entry).map(([name, held]) => [name, Object.hasOwn(parts, name) ? null : held]),
  );
  return { ...scrubber.value(rest), ...parts };
}

/** A line of the caller, as it was where nothing in it has changed. */
function scrubLine(data: string, scrubber: PartScrubber): string {
  const text = data.trimEnd();
  const end = data.slice(text.length);
  if (isTooDeep(text)) return scrubber.text(data);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return scrubber.text(data);
  }
  const scrubbed = JSON.stringify(scrubber.value(value));
  return scrubbed === JSON.stringify(value) ? data : scrubbed + end;
}
