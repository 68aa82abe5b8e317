import type { ParsedLine } from "./read/part_lines.ts";
import { parseEvent, parseHeader } from "./read/read_cast.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";
import { jsonObjectIn } from "../../claude/wire/json_object_in.ts";
import { isTooDeep, jsonLine } from "../../claude/wire/json_text.ts";
import type { Screen } from "../../conversation/terminal/screen.ts";
import { type BlankedParts, blankText } from "../redaction/blank_text.ts";
import type { PartScrubber } from "./part_scrubber.ts";
import { parseTapeEntry } from "./read/read_tape.ts";
import { asciiJson } from "./cassette_format.ts";
import { createOrderedQueue, type OrderedQueue } from "../redaction/redact_stream.ts";
import { createTextStreams, textPieceIn } from "./record/streamed_text.ts";

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
    readonly said: BlankedParts;
    readonly take: (line: ScrubbedLine) => void;
  },
): void {
  const { queue, add } = createLineQueue(scrubber, take);
  const terminal = scrubber.terminal();
  const mayShowAnswers = createAnswerTracker();
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
        queue.addPending(
          terminal(data, { blank }),
          (text) => text === "" ? undefined : event(text),
        );
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
            (scrubbed) => event(textOrOriginal(data, { value, scrubbed })),
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
function createAnswerTracker(): (input: JsonObject | undefined) => boolean {
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
function textOrOriginal(
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
  const { queue, add } = createLineQueue(scrubber, take);
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
      queue.add(lineOf(scrubEntry(value, { data: scrubLine(entry.data, scrubber) }, scrubber)));
      continue;
    }
    const isWrapped = isJsonObject(value["frame"]) && value["frame"] === entry.frame;
    add(
      entry.frame,
      (frame) => lineOf(isWrapped ? scrubEntry(value, { frame }, scrubber) : frame),
    );
  }
  queue.end();
}

/** An entry with parts of it that have been scrubbed, and all that stands beside them. */
function scrubEntry(entry: JsonObject, parts: JsonObject, scrubber: PartScrubber): JsonObject {
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

/** A line of a file that was scrubbed. */
export interface ScrubbedLine {
  /** The line of the file before, from 1 on. */
  readonly number: number;
  /** Without its end. */
  readonly text: string;
  /** Whether something was taken out of it. */
  readonly changed: boolean;
}

/** Values in their order, of which some hold pieces of texts that go on in later ones. */
interface LineQueue {
  readonly queue: OrderedQueue<ScrubbedLine>;
  /** Adds a value, and what becomes a line of it once it is known. */
  readonly add: (value: JsonObject, line: (value: JsonObject) => ScrubbedLine) => void;
}

/** @param take takes each line */
function createLineQueue(
  scrubber: PartScrubber,
  take: (line: ScrubbedLine) => void,
): LineQueue {
  const queue = createOrderedQueue<ScrubbedLine>(take);
  const streams = createTextStreams(scrubber.stream);
  return {
    queue,
    add: (value, line) => {
      streams.observe(value);
      const piece = textPieceIn(value);
      if (piece === undefined) {
        // It need not wait for others, but has its place behind them.
        const made = line(scrubber.value(value));
        queue.add(made);
        return;
      }
      const held = streams.take(piece);
      // A piece by itself may look like what the whole is not: it is not looked at again.
      const rest = textPieceIn(scrubber.value(piece.withText("")));
      const filled = rest?.withText ?? piece.withText;
      queue.addPending(
        held,
        (text) => line(filled(piece.isAnswer ? scrubber.answer(text) : text)),
      );
    },
  };
}
