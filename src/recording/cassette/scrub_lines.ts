import type { ParsedLine } from "./read/part_lines.ts";
import { parseEvent, parseHeader } from "./read/read_cast.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";
import { isTooDeep, jsonLine, parseJsonObject } from "../../claude/wire/json_text.ts";
import type { Screen } from "../../conversation/terminal/screen.ts";
import { type BlankedParts, blankText } from "../redaction/blank_text.ts";
import type { PartScrubber } from "./part_scrubber.ts";
import { parseTapeEntry } from "./read/read_tape.ts";
import { asciiJson } from "./cassette_format.ts";
import { createOrderedQueue, type OrderedQueue } from "../redaction/redact_stream.ts";
import { createTextStreams, textPieceIn } from "./record/streamed_text.ts";

/** A bracketed paste, or any other key sequence. */
// deno-lint-ignore no-control-regex
const KEYS = /(\x1b\[200~)([^]*?)(\x1b\[201~|$)|\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|P[^\x1b]*\x1b\\)/gu;

/**
 * Scrubs the lines of a cast. Times, sizes, codes and unknown events stay unchanged.
 *
 * @param options.path the file, for errors
 * @param options.take receives each line
 * @param options.blanked which words are blanked; prompts are pasted, and the terminal may show prompts and answers
 * @throws {CliError} as `parseEvent()` does
 */
export function scrubCast(
  lines: Iterable<ParsedLine>,
  { path, scrubber, blanked, take }: {
    readonly path: string;
    readonly scrubber: PartScrubber;
    readonly blanked: BlankedParts;
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
    // parseEvent() has checked that the line has three elements.
    const [time, written] = line.value as readonly [number, string];
    const event = (text: string) => lineOf(jsonLine([time, written, text]));
    const value = code === "h" || code === "d" ? parseJsonObject(data) : undefined;
    const blank = blanked.prompts || (blanked.answers && mayShowAnswers(value));
    switch (code) {
      case "o":
        queue.addPending(
          terminal(data, { blank }),
          (text) => text === "" ? undefined : event(text),
        );
        break;
      case "i":
        queue.add(event(scrubKeys(data, { scrubber, blankPastes: blanked.prompts })));
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
 * Tracks whether the terminal may show an answer. In a new session, it shows none before the first prompt is taken.
 * Until then, a pasted prompt has to stay readable, because a replay waits until the terminal shows it.
 *
 * @returns takes the next event, if it is an input
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

/** The text of a scrubbed value; the original text if nothing changed. */
function textOrOriginal(
  text: string,
  { value, scrubbed }: { readonly value: JsonObject; readonly scrubbed: JsonObject },
): string {
  const other = JSON.stringify(scrubbed);
  return other === JSON.stringify(value) ? text : other;
}

/** Scrubs the texts between and inside key sequences. */
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
    const [sequence, begin, pasted = "", end = ""] = match;
    scrubbed += scrubber.text(keys.slice(from, match.index));
    const text = scrubber.text(pasted);
    scrubbed += begin === undefined
      ? sequence
      : begin + (blankPastes ? blankText(text) : text) + end;
    from = match.index + sequence.length;
  }
  return scrubbed + scrubber.text(keys.slice(from));
}

/** An input or effect with scrubbed screens. */
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
 * Scrubs the lines of a tape in any format that `parseTape()` reads.
 *
 * @param options.path the file, for errors
 * @param options.take takes each line
 * @throws {CliError} as `parseTapeEntry()` does
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
    // parseTapeEntry() has checked that the value is an object.
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

/** Scrubs the fields of an entry, except for parts that are already scrubbed. */
function scrubEntry(entry: JsonObject, parts: JsonObject, scrubber: PartScrubber): JsonObject {
  const rest = Object.fromEntries(
    Object.entries(entry).map(([name, field]) => [name, Object.hasOwn(parts, name) ? null : field]),
  );
  return { ...scrubber.value(rest), ...parts };
}

/** Scrubs a caller line; returns the original line if nothing changed. */
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

/** A scrubbed line. */
export interface ScrubbedLine {
  /** The number of the original line, from 1. */
  readonly number: number;
  /** The text without the line end. */
  readonly text: string;
  /** Whether scrubbing changed the line. */
  readonly changed: boolean;
}

/** Scrubs values in order. A piece of a streamed text waits for the next pieces, and all later values wait with it. */
interface LineQueue {
  readonly queue: OrderedQueue<ScrubbedLine>;
  /** Adds a value; `line` makes the line of the scrubbed value. */
  readonly add: (value: JsonObject, line: (value: JsonObject) => ScrubbedLine) => void;
}

/** @param take receives each line */
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
        // Such a value is scrubbed immediately, but emitted after the waiting lines.
        const made = line(scrubber.value(value));
        queue.add(made);
        return;
      }
      const pending = streams.take(piece);
      // The other fields are scrubbed without the piece. The piece alone may look like a trace that the complete text
      // does not have.
      const rest = textPieceIn(scrubber.value(piece.withText("")));
      const filled = rest?.withText ?? piece.withText;
      queue.addPending(
        pending,
        (text) => line(filled(piece.isAnswer ? scrubber.answer(text) : text)),
      );
    },
  };
}
