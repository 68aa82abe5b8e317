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

/** What a shell shows from a moment on. */
export interface ShellMoment {
  /** Milliseconds since the child was started; negative while the command is typed. */
  readonly at: number;
  readonly rows: readonly PictureRow[];
}

/** The shell that a recorded run was started in, as its user saw it. */
export interface ShellScene {
  /** The command line and what it printed, as words; what is too long is cut. */
  readonly command: string;
  readonly printed: string;
  readonly moments: readonly ShellMoment[];
}

const PROMPT: TextStyle = { colour: "#98c379", bold: true };
const CURSOR: TextStyle = { colour: BACKGROUND, background: TEXT_COLOUR };
/** Most rows of a command line, and of what it printed. */
const MOST_COMMAND = 2;
const MOST_PRINTED = 6;
/** Characters of either in words: more than its rows have room for. */
const MOST_WORDS = 10_000;
const TYPED_AT_ONCE = 2;
const KEYSTROKE_MS = 110;
/** How long the command line stands before its child draws anything. */
const PAUSE_MS = 500;

/**
 * Sets the scene for a recorded run: its command line is typed, and what it printed comes last.
 *
 * A recording does not know its command line, so the scene shows the shortest that asks the same.
 *
 * @param options.cols its width, in character cells
 * @param options.last when the last event of the cast was
 */
export function shellScene(
  { cast, tape }: { readonly cast: CastReader; readonly tape: Iterable<TapeEntry> },
  { cols, last }: { readonly cols: number; readonly last: number },
): ShellScene {
  const command = shortened(
    `claude-print ${quoted(firstMessage(cast)?.text ?? "")}`,
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
  const printed = shortened(textOf(result?.frame ?? {}));
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

function shortened(text: string): string {
  return text.length > MOST_WORDS ? `${text.slice(0, MOST_WORDS)}…` : text;
}

/** A text as a word of a shell's command line, on one line. */
function quoted(text: string): string {
  const line = text.trim().replace(/\s+/gu, " ");
  return /["$`\\!]/u.test(line) ? shellQuote(line) : `"${line}"`;
}

/** What a run says in the end: its answer, or why there is none. */
function textOf(frame: Readonly<Record<string, unknown>>): string {
  const { result, errors } = frame;
  if (typeof result === "string" && result.trim() !== "") return result.trim();
  const [error] = Array.isArray(errors) ? errors : [];
  return typeof error === "string" ? `claude-print: ${error}` : "";
}

/**
 * Breaks a text into rows of a terminal, between words where that is possible. Of a long text no more is looked at
 * than is shown.
 *
 * @param options.cols the width of a row in cells; a character that is wider than that has a row of its own
 * @param options.most the number of rows at which the text is cut, with an ellipsis
 */
function wrapText(
  text: string,
  { cols, most }: { readonly cols: number; readonly most: number },
): readonly string[] {
  const rows: string[] = [];
  for (const row of wrappedRows(text, cols)) {
    if (rows.length === most) {
      const last = cut(rows.pop() ?? "", cols - 1).trimEnd();
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
      if (fits(row + word, cols)) {
        row += word;
        continue;
      }
      if (row !== "") yield row;
      let rest = word.trimStart();
      while (!fits(rest, cols)) {
        const first = cut(rest, cols);
        if (first === rest) break;
        yield first;
        rest = rest.slice(first.length);
      }
      row = rest;
    }
    yield row;
  }
}

/** As much of a text as fits, one character at least. */
function cut(text: string, cols: number): string {
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

function fits(text: string, cols: number): boolean {
  let taken = 0;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    taken += cellsOf(segment);
    if (taken > cols) return false;
  }
  return true;
}
