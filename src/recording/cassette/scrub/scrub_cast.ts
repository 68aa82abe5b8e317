import type { ParsedLine } from "../read/parse_lines.ts";
import { parseEvent, parseHeader } from "../read/parse_cast.ts";
import { isJsonObject, type JsonObject } from "../../../json_object.ts";
import { jsonObjectIn } from "../../../claude/wire/json_object_in.ts";
import { jsonLine } from "../../../claude/wire/json_text.ts";
import type { Screen } from "../../../conversation/terminal/screen.ts";
import type { SaidParts } from "../../redaction/traces/blanked/said_parts.ts";
import { blankText } from "../../redaction/traces/blanked/blank_text.ts";
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
 * @param options.said whose words are blanked: those of prompts are pasted, and anybody's may be on the terminal
 * @throws {CliError} as `parseEvent()` does
 */
export function scrubCast(
  lines: Iterable<ParsedLine>,
  { path, scrubber, said, take }: {
    readonly path: string;
    readonly scrubber: PartScrubber;
    readonly said: SaidParts;
    readonly take: (line: ScrubbedLine) => void;
  },
): void {
  const { queue, add } = scrubStreams(scrubber, take);
  const terminal = scrubber.terminal();
  const mayShowAnswers = createAnswerWatch();
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
    const value = code === "h" || code === "d" ? jsonObjectIn(data) : undefined;
    const blank = said.prompts || (said.answers && mayShowAnswers(value));
    switch (code) {
      case "o":
        queue.addMade(terminal(data, { blank }), (text) => text === "" ? undefined : event(text));
        break;
      case "i":
        queue.add(event(scrubKeys(data, { scrubber, blankPastes: said.prompts })));
        break;
      case "h":
      case "d": {
        if (value === undefined) queue.add(event(scrubber.text(data)));
        else {
          add(
            withScreens(value, { scrubber, blank }),
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

/**
 * Creates what says whether an answer may be on the terminal: none is where a session has just begun, and nothing has been
 * asked. A prompt that is pasted then is waited for until the terminal shows it.
 *
 * @returns takes the next event, as far as it is an input
 */
function createAnswerWatch(): (input: JsonObject | undefined) => boolean {
  let isAsked = false;
  let isNew = false;
  return ({ type, event, payload, status } = {}) => {
    if (type === "hook" && event === "SessionStart" && isJsonObject(payload)) {
      isNew = payload["source"] === "startup";
    }
    isAsked ||= (type === "hook" && event === "UserPromptSubmit") ||
      (type === "status" && status === "busy") || type === "transcript" || type === "stream";
    return isAsked || !isNew;
  };
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
function withScreens(
  value: JsonObject,
  options: { readonly scrubber: PartScrubber; readonly blank: boolean },
): JsonObject {
  const { scrubber, blank } = options;
  const { screen, ending } = value;
  return {
    ...value,
    ...(isScreen(screen)
      ? { screen: scrubber.screen({ ...screen, lines: screen.lines.map(String) }, { blank }) }
      : {}),
    ...(isJsonObject(ending) ? { ending: withScreens(ending, options) } : {}),
  };
}

function isScreen(value: unknown): value is Screen {
  if (!isJsonObject(value) || !Array.isArray(value["lines"])) return false;
  const { cursor } = value;
  return isJsonObject(cursor) && typeof cursor["row"] === "number" &&
    typeof cursor["col"] === "number";
}
