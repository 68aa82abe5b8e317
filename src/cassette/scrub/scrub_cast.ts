import type { ParsedLine } from "../read/parse_lines.ts";
import { parseEvent, parseHeader } from "../read/parse_cast.ts";
import { isJsonObject, type JsonObject } from "../../transcript/json_object.ts";
import { jsonObjectIn } from "../../wire/json_object_in.ts";
import { jsonLine } from "../../wire/json_text.ts";
import { blankText } from "../../redaction/traces/blank_text.ts";
import type { PartScrubber } from "./part_scrubber.ts";
import { type ScrubbedLine, scrubStreams } from "./scrub_streams.ts";

/** A paste, and any other sequence of keys. */
// deno-lint-ignore no-control-regex
const KEYS = /(\x1b\[200~)([^]*?)(\x1b\[201~|$)|\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|P[^\x1b]*\x1b\\)/gu;

/**
 * Scrubs the lines of a cast's file. Times, sizes, codes and what this program does not know of stay as they are.
 *
 * @param options.path the file, for errors
 * @param options.take takes each line
 * @param options.blankPastes whether pastes, which are prompts, say nothing
 * @throws {CliError} as `parseEvent()` does
 */
export function scrubCast(
  lines: Iterable<ParsedLine>,
  { path, scrubber, blankPastes, take }: {
    readonly path: string;
    readonly scrubber: PartScrubber;
    readonly blankPastes: boolean;
    readonly take: (line: ScrubbedLine) => void;
  },
): void {
  const { queue, add } = scrubStreams(scrubber, take);
  const terminal = scrubber.terminal();
  let header: ReturnType<typeof parseHeader> | undefined;
  let last = 0;
  for (const line of lines) {
    const before = jsonLine(line.value);
    const lineOf = (text: string) =>
      text === before
        ? { number: line.number, text: line.text, changed: false }
        : { number: line.number, text, changed: true };
    if (header === undefined) {
      header = parseHeader(line, { path });
      queue.add(lineOf(jsonLine(scrubber.value(line.value))));
      continue;
    }
    const { at, code, data } = parseEvent(line, { path, header, last });
    last = at;
    // What parseEvent() has read is three of these.
    const [time, written] = line.value as readonly [number, string];
    const event = (text: string) => lineOf(jsonLine([time, written, text]));
    switch (code) {
      case "o":
        queue.addMade(terminal(data), (text) => text === "" ? undefined : event(text));
        break;
      case "i":
        queue.add(event(scrubKeys(data, { scrubber, blankPastes })));
        break;
      case "h":
      case "d": {
        const value = jsonObjectIn(data);
        if (value === undefined) queue.add(event(scrubber.text(data)));
        else {
          add(
            withScreens(value, scrubber),
            (scrubbed) => event(sameOr(data, { value, scrubbed })),
          );
        }
        break;
      }
      default:
        queue.add(event(scrubber.text(data)));
    }
  }
  queue.end();
}

/** The text of a value that was scrubbed: as it was, where nothing has changed. */
function sameOr(
  text: string,
  { value, scrubbed }: { readonly value: JsonObject; readonly scrubbed: JsonObject },
): string {
  const other = JSON.stringify(scrubbed);
  return other === JSON.stringify(value) ? text : other;
}

/** Keys as they were, but for what was typed with them. */
function scrubKeys(
  keys: string,
  { scrubber, blankPastes }: {
    readonly scrubber: PartScrubber;
    readonly blankPastes: boolean;
  },
): string {
  let scrubbed = "";
  let from = 0;
  for (const match of keys.matchAll(KEYS)) {
    const [whole, begin, pasted = "", end = ""] = match;
    scrubbed += scrubber.text(keys.slice(from, match.index));
    const text = scrubber.text(pasted);
    scrubbed += begin === undefined ? whole : begin + (blankPastes ? blankText(text) : text) + end;
    from = match.index + whole.length;
  }
  return scrubbed + scrubber.text(keys.slice(from));
}

/** An input or an effect whose screens are scrubbed as they are drawn. */
function withScreens(value: JsonObject, scrubber: PartScrubber): JsonObject {
  const { screen, ending } = value;
  const lines = isJsonObject(screen) ? screen["lines"] : undefined;
  return {
    ...value,
    ...(Array.isArray(lines)
      ? { screen: { ...Object(screen), lines: scrubber.rows(lines.map(String)) } }
      : {}),
    ...(isJsonObject(ending) ? { ending: withScreens(ending, scrubber) } : {}),
  };
}
