import type { CastReader, TapedFrame, TapeEntry } from "../cassette/cassette_format.ts";
import { firstMessage } from "../cassette/cast_steps.ts";
import {
  BACKGROUND,
  cellsOf,
  type PictureRow,
  TEXT_COLOUR,
  textRow,
  type TextStyle,
} from "./draw_row.ts";
import { shellQuote } from "../../shell_quote.ts";

/** The contents of the shell from a time on. */
interface ShellMoment {
  /** Milliseconds since the child started; negative while the command is typed. */
  readonly at: number;
  readonly rows: readonly PictureRow[];
}

/** The shell in which the user started a recorded run. */
interface ShellScene {
  /** The command line and its output as texts, which are cut if they are too long. */
  readonly command: string;
  readonly printed: string;
  readonly moments: readonly ShellMoment[];
}

const PROMPT: TextStyle = { colour: "#98c379", bold: true };
const CURSOR: TextStyle = { colour: BACKGROUND, background: TEXT_COLOUR };
/** The maximum number of rows of the command line, and of its output. */
const MOST_COMMAND = 2;
const MOST_PRINTED = 6;
/** The maximum number of characters of each text. The rows have room for fewer. */
const MOST_WORDS = 10_000;
const TYPED_AT_ONCE = 2;
const KEYSTROKE_MS = 110;
/** How long the complete command line shows before the child draws. */
const PAUSE_MS = 500;

/**
 * Builds the shell of a recorded run: the command line is typed, and its output comes last.
 *
 * A recording does not have the command line, so the shell shows the shortest one with the same prompt.
 *
 * @param options.cols the width in character cells
 * @param options.last the time of the cast's last event
 */
export function shellScene(
  { cast, tape }: { readonly cast: CastReader; readonly tape: Iterable<TapeEntry> },
  { cols, last }: { readonly cols: number; readonly last: number },
): ShellScene {
  const command = truncate(
    `claude-print ${quoteOnOneLine(firstMessage(cast)?.text ?? "")}`,
  );
  const lines = wrapText(command, { cols: cols - 2, most: MOST_COMMAND });
  const characters = Array.from(lines.join("\n"));
  const typing: ShellMoment[] = [];
  for (let count = 0; count < characters.length; count += TYPED_AT_ONCE) {
    const typed = characters.slice(0, count).join("").split("\n");
    typing.push({
      at: -PAUSE_MS - (characters.length - count) / TYPED_AT_ONCE * KEYSTROKE_MS,
      rows: commandRows(typed, { isTyped: true }),
    });
  }
  const entered = commandRows(lines, { isTyped: false });
  const result = lastResult(tape);
  const printed = truncate(resultText(result?.frame ?? {}));
  const answer = printed === ""
    ? []
    : wrapText(printed, { cols, most: MOST_PRINTED }).map((line) => textRow([[line, {}]]));
  return {
    command,
    printed,
    moments: [
      ...typing,
      { at: -PAUSE_MS, rows: [...entered, textRow([[" ", CURSOR]])] },
      {
        at: Math.max(result?.at ?? last, last),
        rows: [...entered, ...answer, textRow([["$", PROMPT], [" ", {}], [" ", CURSOR]])],
      },
    ],
  };
}

function lastResult(tape: Iterable<TapeEntry>): TapedFrame | undefined {
  let last: TapedFrame | undefined;
  for (const entry of tape) {
    if (entry.dir === "read" && entry.frame.type === "result") last = entry;
  }
  return last;
}

function commandRows(
  lines: readonly string[],
  { isTyped }: { readonly isTyped: boolean },
): readonly PictureRow[] {
  return lines.map((line, index) => {
    const isLast = index === lines.length - 1;
    return textRow([
      index === 0 ? ["$ ", PROMPT] : ["  ", {}],
      [line, {}],
      ...(isTyped && isLast ? [[" ", CURSOR] as const] : []),
    ]);
  });
}

function truncate(text: string): string {
  return text.length > MOST_WORDS ? `${text.slice(0, MOST_WORDS)}…` : text;
}

/** Quotes a text for a shell, on one line. */
function quoteOnOneLine(text: string): string {
  const line = text.trim().replace(/\s+/gu, " ");
  return /["$`\\!]/u.test(line) ? shellQuote(line) : `"${line}"`;
}

/** The answer of a run, or why there is none. */
function resultText(frame: Readonly<Record<string, unknown>>): string {
  const { result, errors } = frame;
  if (typeof result === "string" && result.trim() !== "") return result.trim();
  const [error] = Array.isArray(errors) ? errors : [];
  return typeof error === "string" ? `claude-print: ${error}` : "";
}

/**
 * Wraps a text into rows, between words if possible. Reads no more of a long text than it returns.
 *
 * @param options.cols the width of a row in cells; a wider character has a row of its own
 * @param options.most the most rows; a longer text ends with an ellipsis
 */
function wrapText(
  text: string,
  { cols, most }: { readonly cols: number; readonly most: number },
): readonly string[] {
  const rows: string[] = [];
  for (const row of wrappedRows(text, cols)) {
    if (rows.length === most) {
      const last = cutToWidth(rows.pop() ?? "", cols - 1).trimEnd();
      return [...rows, `${last}…`];
    }
    rows.push(row);
  }
  return rows;
}

function* wrappedRows(text: string, cols: number): Iterable<string> {
  for (const line of text.split("\n")) {
    let row = "";
    for (const [word] of line.matchAll(/\s*\S+/gu)) {
      if (fitsWidth(row + word, cols)) {
        row += word;
        continue;
      }
      if (row !== "") yield row;
      let rest = word.trimStart();
      while (!fitsWidth(rest, cols)) {
        const first = cutToWidth(rest, cols);
        if (first === rest) break;
        yield first;
        rest = rest.slice(first.length);
      }
      row = rest;
    }
    yield row;
  }
}

/** The beginning of a text that fits, but at least one character. */
function cutToWidth(text: string, cols: number): string {
  let length = 0;
  let taken = 0;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    taken += cellsOf(segment);
    if (taken > cols && length > 0) break;
    length += segment.length;
    if (taken > cols) break;
  }
  return text.slice(0, length);
}

function fitsWidth(text: string, cols: number): boolean {
  let taken = 0;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    taken += cellsOf(segment);
    if (taken > cols) return false;
  }
  return true;
}
