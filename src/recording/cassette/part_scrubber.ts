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

/** What is taken out of a cassette. */
export interface ScrubOptions {
  /** What is known of the machine that it was recorded on; absent where what tells of it stays. */
  readonly known?: KnownTraces;
  readonly redactor: Pick<Redactor, "text" | "openFrom">;
  /** Whose words are blanked besides. */
  readonly said: BlankedParts;
  /** The calls of subagents that are known before; those that are come by are learned. */
  readonly subagents?: SubagentCalls;
  /** Takes the kind of each trace that is taken out. */
  readonly note?: (kind: Trace["kind"]) => void;
  /** What becomes of a value that is nested more deeply than a recording keeps; it is cut there by default. */
  readonly deep?: (value: object) => unknown;
}

/** Takes secrets and traces out of what a cast or a tape holds, and the words of those who are to say nothing. */
export interface PartScrubber {
  /** A text by itself, as keys that were typed. */
  readonly text: (text: string) => string;
  /** A JSON value. */
  readonly value: <Value>(value: Value) => Value;
  /** A piece of an answer that has been scrubbed: nothing more, unless answers are blanked. */
  readonly answer: (text: string) => string;
  /** A screen with as many rows, as long as they were. */
  readonly screen: <Shown extends Screen>(
    screen: Shown,
    options: { readonly blank: boolean },
  ) => Shown;
  /** Begins a text that comes in pieces, which may be what a tool is given, as JSON; takes the next one. */
  readonly stream: (tool?: string) => (text: string) => StreamPiece;
  /** Begins what is written to a terminal; takes the next piece. */
  readonly terminal: () => (text: string, options: { readonly blank: boolean }) => StreamPiece;
}

/** How much text is gone through at once: a recording holds it in small pieces, each of which is looked at with others. */
const GATHERED = 8 * 1024;

/** Finds none. */
const NO_TRACES: TraceScrubber = {
  text: (text) => text,
  value: (value) => value,
  pieces: (pieces) => pieces,
  openFrom: () => Infinity,
  replacements: () => [],
};

/** Creates a scrubber. What it puts in the place of a trace is as long as that was. */
export function createPartScrubber(
  { known, redactor, said, subagents, note, deep }: ScrubOptions,
): PartScrubber {
  const traces = known === undefined
    ? NO_TRACES
    : createTraceScrubber(known, reportFilled(fillSameLength(known), note));
  const redactValue = createValueRedactor(redactor.text, { deep });
  const text = (given: string) => traces.text(redactor.text(given));
  const openFrom = (given: string) => Math.min(redactor.openFrom(given), traces.openFrom(given));
  const blankSaid = createMessageBlanker(said, { subagents });
  return {
    text,
    value: (value) => blankSaid(traces.value(redactValue(value))),
    answer: said.answers ? blankText : (given) => given,
    screen: (screen, { blank }) => {
      const rows = redactPieces(screen.lines.map((row) => `${row}\n`), redactor.text)
        .map((row) => row.replaceAll("\n", "")).map((row) => `${row}\n`);
      const lines = scrubTerminal(rows, traces).map((row) => row.slice(0, -1));
      const scrubbed = { ...screen, lines };
      return blank ? { ...scrubbed, lines: blankScreen(scrubbed) } : scrubbed;
    },
    stream: (tool) => {
      const redact = (pieces: readonly string[], options: { readonly written: number }) =>
        traces.pieces(redactPieces(pieces, redactor.text, options));
      return said.prompts && tool !== undefined && isSubagentTool(tool)
        ? createCallBlanker({ tool, redact })
        : createStreamRedactor({ redact, openFrom, gather: GATHERED });
    },
    terminal: () => {
      const blanker = said.prompts || said.answers ? createTerminalBlanker() : undefined;
      const take = createStreamRedactor({
        redact: (pieces, options) =>
          scrubTerminal(redactTerminal(pieces, redactor.text, options), traces),
        openFrom: (written) => findOpenSecret(written, openFrom),
        gather: GATHERED,
      });
      return (written, { blank }) => {
        // It follows what is written though nothing of it is blanked.
        const blanked = blanker?.(written);
        // Where nothing is left to be read, there is nothing to be found.
        return blank && blanked !== undefined
          ? { redacted: blanked, settle: () => {} }
          : take(written);
      };
    },
  };
}

/** The rows of a screen without a letter, but for a dialog: a program has to know which it is. */
function blankScreen(screen: Screen): readonly string[] {
  const caret = caretAtCursor(screen);
  const rule = screen.lines.findLastIndex((line, row) =>
    caret !== undefined && row < caret && RULE.test(line)
  );
  const from = caret === undefined ? Infinity : rule;
  return screen.lines.map((line, row) => row < from ? blankText(line) : line);
}

/** What stays of JSON that cannot be understood, and what does not. */
const ESCAPE_OR_LETTERS = /\\u[\da-f]{0,4}|\\[^]?|[\p{L}\p{N}]+/giu;

/**
 * Creates what blanks what a subagent is told where a tool is given it as JSON in pieces. All of them wait for the last
 * one; of what is longer than can wait no letter is left.
 *
 * @param options.redact what is taken out of the pieces besides
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
        ? pieces.map(withoutLetters)
        : cutAtSamePlaces(blankCallJson(tool, pieces.join("")), pieces);
    },
    openFrom: () => 0,
  });
  return (text) => {
    length += text.length;
    return take(text);
  };
}

function withoutLetters(json: string): string {
  return json.replace(
    ESCAPE_OR_LETTERS,
    (found) => found.startsWith("\\") ? found : blankText(found),
  );
}

/** Where in a sequence of a terminal a text ends. */
type State = "text" | "escape" | "control" | "title" | "string" | "string-escape" | "title-escape";

/**
 * Creates what blanks all that is written to a terminal, titles too: letters and digits are an x, sequences stay as they
 * are, wherever they are cut.
 *
 * @returns takes the next piece
 */
export function createTerminalBlanker(): (text: string) => string {
  let state: State = "text";
  /** What a string of the system's kind has begun with, as far as it tells whether it is a title. */
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

  function after(character: string): State {
    switch (state) {
      case "text":
        return character === "\x1b" ? "escape" : "text";
      case "escape":
        if (character === "[") return "control";
        if ("]PX^_".includes(character)) {
          kind = character;
          return "string";
        }
        // Blanks and their like stand between an escape and its end.
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

/** The end of a row with the blanks and frames on either side of it. */
const ROW_END = /[ \t│|]*\r*\n[\s│|]*/gu;

const BEGINS_PATH = new RegExp(`^/(?:${ROOTS.join("|")})(?:/|$)`, "u");

/**
 * Takes traces out of what was written to a terminal, piece by piece, although they are drawn in several colours or go on
 * in another row. What stands for a letter of them is drawn where that was: nothing moves.
 *
 * @param scrubber one that fills with as many characters
 * @returns as many pieces, each as long as it was
 */
function scrubTerminal(
  pieces: readonly string[],
  { replacements: filled }: Pick<TraceScrubber, "replacements">,
): readonly string[] {
  const { text, parts } = visibleText(pieces.join(""));
  const letters = new Map<number, string>();
  const unwrapped = withoutRowEnds(text);
  const put = (
    places: (at: number) => number,
    { start, fill }: { start: number; fill: string },
  ) => {
    for (let at = 0; at < fill.length; at++) {
      const place = places(start + at);
      // What either way of reading takes out is out.
      if (fill.charAt(at) !== text.charAt(place)) letters.set(place, fill.charAt(at));
    }
  };
  for (const trace of filled(text)) put((at) => at, trace);
  for (const trace of filled(unwrapped.text)) put(unwrapped.place, trace);
  if (letters.size === 0) return pieces;
  const written = new Map<number, string>();
  let index = 0;
  for (const at of [...letters.keys()].toSorted((one, other) => one - other)) {
    while (at >= (parts[index + 1]?.at ?? Infinity)) index++;
    const part = parts[index];
    if (part === undefined || part.place < 0 || LAYOUT.test(text.charAt(at))) continue;
    written.set(part.place + at - part.at, letters.get(at) ?? "");
  }
  // In their order, as they were put.
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

/** A text in which each row goes on with the next, and where in the other one a place of it is. */
function withoutRowEnds(
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
    // A row that begins a path does not go on with the one before.
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
