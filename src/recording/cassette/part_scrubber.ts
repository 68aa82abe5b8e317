import { createValueRedactor, cutAtSamePlaces, redactPieces } from "../redaction/redact_pieces.ts";
import {
  createStreamRedactor,
  MAX_PENDING_TEXT,
  type StreamPiece,
} from "../redaction/redact_stream.ts";
import { findOpenSecret, LAYOUT, redactTerminal, visibleText } from "./record/redact_terminal.ts";
import type { Redactor } from "../redaction/redact.ts";
import {
  blankCallJson,
  type BlankedParts,
  blankText,
  isSubagentTool,
} from "../redaction/blank_text.ts";
import { createMessageBlanker, type SubagentCalls } from "../redaction/blank_messages.ts";
import {
  createTraceScrubber,
  fillSameLength,
  reportFilled,
  type TraceScrubber,
} from "../redaction/scrub_traces.ts";
import { ROOTS, type Trace } from "../redaction/find_traces.ts";
import type { KnownTraces } from "../redaction/known_traces.ts";
import { caretAtCursor } from "../../conversation/terminal/choices.ts";
import { RULE } from "../../conversation/terminal/recognise_dialog.ts";
import type { Screen } from "../../conversation/terminal/screen.ts";

/** The parts of a cassette to remove. */
export interface PartScrubberOptions {
  /** Traces of the machine and user of the recording; absent if traces stay. */
  readonly known?: KnownTraces;
  readonly redactor: Pick<Redactor, "text" | "openFrom">;
  /** Whether to blank prompts and answers. */
  readonly blanked: BlankedParts;
  /** The known calls of subagents; the scrubber adds those that it finds. */
  readonly subagents?: SubagentCalls;
  /** Receives the kind of each removed trace. */
  readonly onTrace?: (kind: Trace["kind"]) => void;
  /** Replaces a value that is nested too deeply for a recording. By default, the value is cut there. */
  readonly deep?: (value: object) => unknown;
}

/** Removes secrets and traces from parts of a cast or a tape, and blanks prompts and answers. */
export interface PartScrubber {
  /** Scrubs a complete text, such as typed keys. */
  readonly text: (text: string) => string;
  /** Scrubs a JSON value. */
  readonly value: <Value>(value: Value) => Value;
  /** Blanks a scrubbed piece of an answer, if the options ask for blanked answers. */
  readonly answer: (text: string) => string;
  /** Scrubs a screen without changing the number and the length of its rows. */
  readonly screen: <Shown extends Screen>(
    screen: Shown,
    options: { readonly blank: boolean },
  ) => Shown;
  /**
   * Begins a streamed text. Returns a function that receives its pieces. `tool` is set if the text is the JSON input of
   * a tool.
   */
  readonly stream: (tool?: string) => (text: string) => StreamPiece;
  /** Begins the output of a terminal. Returns a function that receives its pieces. */
  readonly terminal: () => (text: string, options: { readonly blank: boolean }) => StreamPiece;
}

/**
 * The number of characters that are searched together. Recordings have much smaller pieces, and each search repeats the
 * text around a piece.
 */
const GATHERED = 8 * 1024;

const NO_TRACES: TraceScrubber = {
  text: (text) => text,
  value: (value) => value,
  pieces: (pieces) => pieces,
  openFrom: () => Infinity,
  replacements: () => [],
};

/** Creates a scrubber whose replacements are as long as the traces. */
export function createPartScrubber(
  { known, redactor, blanked, subagents, onTrace, deep }: PartScrubberOptions,
): PartScrubber {
  const traces = known === undefined
    ? NO_TRACES
    : createTraceScrubber(known, reportFilled(fillSameLength(known), onTrace));
  const redactValue = createValueRedactor(redactor.text, { deep });
  const text = (given: string) => traces.text(redactor.text(given));
  const openFrom = (given: string) => Math.min(redactor.openFrom(given), traces.openFrom(given));
  const blankMessages = createMessageBlanker(blanked, { subagents });
  return {
    text,
    value: (value) => blankMessages(traces.value(redactValue(value))),
    answer: blanked.answers ? blankText : (given) => given,
    screen: (screen, { blank }) => {
      const rows = redactPieces(screen.lines.map((row) => `${row}\n`), redactor.text)
        .map((row) => row.replaceAll("\n", "")).map((row) => `${row}\n`);
      const lines = replaceTraces(rows, traces).map((row) => row.slice(0, -1));
      const scrubbed = { ...screen, lines };
      return blank ? { ...scrubbed, lines: blankScreen(scrubbed) } : scrubbed;
    },
    stream: (tool) => {
      const redact = (pieces: readonly string[], options: { readonly written: number }) =>
        traces.pieces(redactPieces(pieces, redactor.text, options));
      return blanked.prompts && tool !== undefined && isSubagentTool(tool)
        ? createCallBlanker({ tool, redact })
        : createStreamRedactor({ redact, openFrom, gather: GATHERED });
    },
    terminal: () => {
      const blanker = blanked.prompts || blanked.answers ? createTerminalBlanker() : undefined;
      const take = createStreamRedactor({
        redact: (pieces, options) =>
          replaceTraces(redactTerminal(pieces, redactor.text, options), traces),
        openFrom: (written) => findOpenSecret(written, openFrom),
        gather: GATHERED,
      });
      return (written, { blank }) => {
        // The blanker has to see all output, because an escape sequence may continue in the next piece.
        const blanked = blanker?.(written);
        // Blanked output needs no search for traces.
        return blank && blanked !== undefined
          ? { redacted: blanked, settle: () => {} }
          : take(written);
      };
    },
  };
}

/** Blanks the rows of a screen, except for a dialog: a replay has to recognise it. */
function blankScreen(screen: Screen): readonly string[] {
  const caret = caretAtCursor(screen);
  const rule = screen.lines.findLastIndex((line, row) =>
    caret !== undefined && row < caret && RULE.test(line)
  );
  const from = caret === undefined ? Infinity : rule;
  return screen.lines.map((line, row) => row < from ? blankText(line) : line);
}

/** An escape of JSON, which is kept, or letters and digits, which are blanked. */
const ESCAPE_OR_LETTERS = /\\u[\da-f]{0,4}|\\[^]?|[\p{L}\p{N}]+/giu;

/**
 * Creates a blanker for the streamed JSON input of a tool that starts a subagent. The pieces wait for the last piece.
 * If they become too long to wait, all letters are blanked.
 *
 * @param options.redact removes secrets and traces from the pieces
 * @returns takes the next piece
 */
function createCallBlanker({ tool, redact }: {
  readonly tool: string;
  readonly redact: Parameters<typeof createStreamRedactor>[0]["redact"];
}): (text: string) => StreamPiece {
  let length = 0;
  const take = createStreamRedactor({
    redact: (given, options) => {
      const pieces = redact(given, options);
      return length > MAX_PENDING_TEXT
        ? pieces.map(blankJsonLetters)
        : cutAtSamePlaces(blankCallJson(tool, pieces.join("")), pieces);
    },
    openFrom: () => 0,
  });
  return (text) => {
    length += text.length;
    return take(text);
  };
}

function blankJsonLetters(json: string): string {
  return json.replace(
    ESCAPE_OR_LETTERS,
    (found) => found.startsWith("\\") ? found : blankText(found),
  );
}

/** The parser state at the end of a text: inside which escape sequence the text ends. */
type TerminalState =
  | "text"
  | "escape"
  | "control"
  | "title"
  | "string"
  | "string-escape"
  | "title-escape";

/**
 * Creates a blanker for output of a terminal and its titles. Letters and digits become an x. Escape sequences stay,
 * wherever the output is cut.
 *
 * @returns takes the next piece
 */
export function createTerminalBlanker(): (text: string) => string {
  let state: TerminalState = "text";
  /** The beginning of an OSC string, which shows whether the string is a title. */
  let kind = "";
  return (text) => {
    let out = "";
    let run = "";
    const flush = () => {
      out += blankText(run);
      run = "";
    };
    for (const character of text) {
      const isShown = state === "text" || state === "title";
      const next = after(character);
      if (isShown && next === state) run += character;
      else {
        flush();
        out += character;
      }
      state = next;
    }
    flush();
    return out;
  };

  function after(character: string): TerminalState {
    switch (state) {
      case "text":
        return character === "\x1b" ? "escape" : "text";
      case "escape":
        if (character === "[") return "control";
        if ("]PX^_".includes(character)) {
          kind = character;
          return "string";
        }
        // Intermediate bytes of an escape sequence.
        return character >= " " && character <= "/" ? "escape" : "text";
      case "control":
        return character >= "@" && character <= "~" ? "text" : "control";
      case "string":
        if (character === "\x07") return "text";
        if (character === "\x1b") return "string-escape";
        if (kind.length < 4) kind += character;
        return /^\][012];$/u.test(kind) ? "title" : "string";
      case "title":
        if (character === "\x07") return "text";
        return character === "\x1b" ? "title-escape" : "title";
      case "string-escape":
      case "title-escape":
        return character === "\x1b" ? state : "text";
    }
  }
}

/** The end of a row, with blanks and frames around it. */
const ROW_END = /[ \t│|]*\r*\n[\s│|]*/gu;

const BEGINS_PATH = new RegExp(`^/(?:${ROOTS.join("|")})(?:/|$)`, "u");

/**
 * Replaces traces in output of a terminal, also if they have several colours or continue in another row. Each
 * replacement character is at the position of the original character, so that nothing moves.
 *
 * @param scrubber one whose replacements are as long as the traces
 * @returns as many pieces of the same lengths
 */
function replaceTraces(
  pieces: readonly string[],
  { replacements }: Pick<TraceScrubber, "replacements">,
): readonly string[] {
  const { text, parts } = visibleText(pieces.join(""));
  const letters = new Map<number, string>();
  const unwrapped = joinRows(text);
  const put = (
    places: (at: number) => number,
    { start, fill }: { start: number; fill: string },
  ) => {
    for (let at = 0; at < fill.length; at++) {
      const place = places(start + at);
      // A character is replaced if either reading of the text, with or without row ends, finds a trace.
      if (fill.charAt(at) !== text.charAt(place)) letters.set(place, fill.charAt(at));
    }
  };
  for (const trace of replacements(text)) put((at) => at, trace);
  for (const trace of replacements(unwrapped.text)) put(unwrapped.place, trace);
  if (letters.size === 0) return pieces;
  const written = new Map<number, string>();
  let index = 0;
  for (const at of [...letters.keys()].toSorted((one, other) => one - other)) {
    while (at >= (parts[index + 1]?.at ?? Infinity)) index++;
    const part = parts[index];
    if (part === undefined || part.place < 0 || LAYOUT.test(text.charAt(at))) continue;
    written.set(part.place + at - part.at, letters.get(at) ?? "");
  }
  // In ascending order, as they were added.
  const places = [...written];
  let next = 0;
  let offset = 0;
  return pieces.map((piece) => {
    const start = offset;
    offset += piece.length;
    let changed = "";
    let from = 0;
    for (let one = places[next]; one !== undefined && one[0] < offset; one = places[++next]) {
      const [place, letter] = one;
      changed += piece.slice(from, place - start) + letter;
      from = place - start + 1;
    }
    return from === 0 ? piece : changed + piece.slice(from);
  });
}

/** Joins the rows of a text. `place` maps a position in the joined text to one in the original text. */
function joinRows(
  text: string,
): { readonly text: string; readonly place: (at: number) => number } {
  const kept: { readonly at: number; readonly from: number }[] = [];
  let joined = "";
  let from = 0;
  const keep = (to: number) => {
    kept.push({ at: joined.length, from });
    joined += text.slice(from, to);
  };
  for (const { 0: { length }, index } of text.matchAll(ROW_END)) {
    // A row that begins a path does not continue the previous row.
    if (BEGINS_PATH.test(text.slice(index + length, index + length + 20))) continue;
    keep(index);
    from = index + length;
  }
  keep(text.length);
  return {
    text: joined,
    place: (at) => {
      const part = kept[lastAtOrBefore(kept, at)];
      return part === undefined ? at : part.from + at - part.at;
    },
  };
}

function lastAtOrBefore(parts: readonly { readonly at: number }[], place: number): number {
  let [low, high] = [0, parts.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((parts[middle]?.at ?? Infinity) <= place) low = middle;
    else high = middle - 1;
  }
  return low;
}
