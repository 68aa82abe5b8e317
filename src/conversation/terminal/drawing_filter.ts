import {
  SCANNER_START,
  type ScannerState,
  scanTerminal,
  type TerminalToken,
} from "./terminal_scanner.ts";

/** The state of the filter between two chunks. */
export interface DrawingState {
  readonly scanner: ScannerState;
  /** The beginning of a character that the next chunk may complete. */
  readonly partial: Uint8Array;
  /** The number of preceding characters in a row that take no cell of their own. */
  readonly marks: number;
  /** Whether text moves the text behind it (insert mode). */
  readonly inserts: boolean;
}

/** The filter at the beginning of a terminal's output. */
export const DRAWING_START: DrawingState = {
  scanner: SCANNER_START,
  partial: new Uint8Array(0),
  marks: 0,
  inserts: false,
};

/** Part of a filtered output: one sequence, or some text. */
export interface DrawingPiece {
  readonly text: string;
  /** The maximum work of a terminal of that size to draw the piece, in units of some 10 ns (@xterm/headless 6.0.0). */
  readonly work: number;
}

/** The terminal for which an output is filtered. */
export interface DrawingTarget {
  /** The terminal's size, in character cells. */
  readonly size: { readonly rows: number; readonly cols: number };
  /**
   * Whether the terminal shows the child's alternate screen as such. If not, a child that changes to it gets an empty
   * screen.
   */
  readonly otherScreen: boolean;
}

/**
 * The characters that are removed from a text. Everything visible stays, and the controls that move the cursor. C1
 * controls are commands to a terminal, even in UTF-8. Characters that change the direction of text can make it look
 * like another text.
 */
const HIDDEN = /[^\P{C}\p{Co}\p{Cn}\b\t\n\r\u00ad\u200c\u200d]|[\u2028\u2029]/gu;
/**
 * Characters that join the preceding character in one cell, and the maximum number of them in any script and any emoji.
 */
const JOINING = /[\p{M}\u200c\u200d\u1160-\u11ff\ud7b0-\ud7ff]/u;
const MOST_MARKS = 8;

const ONE_NUMBER = /^\d*$/u;
const NUMBERS = /^\d*(?:;\d*){0,4}$/u;
const COLOURS = /^[\d;:]{0,256}$/u;
const LARGEST_COLOUR = 255;
/** Erases a part of the screen. The parameter 3 is excluded, because it erases the scrollback. */
const ERASE = /^[012]?$/u;

/** Modes that only change the look of output: origin, line wrap, cursor visibility, synchronized output. */
const LOOKS = new Set(["6", "7", "25", "2026"]);
const OTHER_SCREEN = new Set(["47", "1047", "1049"]);
const CLEAR_SCREEN = "\x1b[2J";

/** The maximum number of modes that one sequence may set. */
const MOST_MODES = 16;

/** Text is passed on in pieces of this many characters, so that parts of it can be left out. */
const PIECE = 1024;
const CHARACTER_WORK = 20;
const SEQUENCE_WORK = 100;

/**
 * Returns the parts of a child's output that a terminal may receive to show the same screen, at a limited cost.
 *
 * Only sequences that are known to draw may pass: visible text, colours, cursor movement, erasing, scrolling. So the
 * output can ask a terminal nothing, set no mode that types, and change no title, notification or clipboard. Unknown
 * sequences do not pass. No number is larger than the terminal can use, because a library may count to it. Neither the
 * text nor the sum of the work depends on the division of the output into chunks.
 */
export function filterDrawing(
  state: DrawingState,
  bytes: Uint8Array,
  target: DrawingTarget,
): { readonly state: DrawingState; readonly pieces: readonly DrawingPiece[] } {
  const { state: scanner, tokens } = scanTerminal(state.scanner, bytes);
  const pieces: DrawingPiece[] = [];
  let { partial, marks, inserts } = state;
  const add = (visible: string) => {
    const bounded = withFewMarks(visible, marks);
    marks = bounded.marks;
    for (let at = 0; at < bounded.text.length; at += PIECE) {
      const text = bounded.text.slice(at, at + PIECE);
      const lines = text.split("\n").length - 1;
      const work = text.length * characterWork(target, inserts) + lines * lineWork(target);
      pieces.push({ text, work });
    }
  };
  for (const token of tokens) {
    if (token.kind === "text") {
      const all = concatenate(partial, token.bytes);
      const end = all.length - unfinishedLength(all);
      add(visible(all.subarray(0, end)));
      partial = all.slice(end);
      continue;
    }
    add(visible(partial));
    partial = DRAWING_START.partial;
    const piece = drawing(token, { ...target, marks, inserts });
    if (piece === undefined) continue;
    pieces.push(piece);
    if (piece.text === INSERT_ON) inserts = true;
    if (piece.text === INSERT_OFF) inserts = false;
  }
  return { state: { scanner, partial, marks, inserts }, pieces };
}

const INSERT_ON = "\x1b[4h";
const INSERT_OFF = "\x1b[4l";

function visible(bytes: Uint8Array): string {
  if (bytes.length === 0) return "";
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes).replace(HIDDEN, "");
}

/** A text in which each character has at most a few joined characters; `marks` have preceded the text. */
function withFewMarks(
  text: string,
  marks: number,
): { readonly text: string; readonly marks: number } {
  if (!JOINING.test(text)) return { text, marks: text === "" ? marks : 0 };
  let kept = "";
  let count = marks;
  for (const character of text) {
    count = JOINING.test(character) ? count + 1 : 0;
    if (count <= MOST_MARKS) kept += character;
  }
  return { text: kept, marks: Math.min(count, MOST_MARKS) };
}

/** The limits of a sequence: the largest values of its numbers, and its work with the first of them. */
interface Shape {
  readonly most: readonly number[];
  readonly work: (count: number) => number;
}

type Options = DrawingTarget & Pick<DrawingState, "marks" | "inserts">;

/** A sequence in the form in which it may pass, if it may. */
function drawing(
  token: Exclude<TerminalToken, { kind: "text" }>,
  options: Options,
): DrawingPiece | undefined {
  switch (token.kind) {
    case "string":
      return undefined;
    case "esc":
      // Save and restore the cursor, down, next line, up.
      return token.intermediates === "" && "78DEM".includes(token.final)
        ? { text: `\x1b${token.final}`, work: SEQUENCE_WORK + lineWork(options) }
        : undefined;
    case "csi":
      return control(token, options);
    default:
      return token satisfies never;
  }
}

function control(
  { parameters, final }: { readonly parameters: string; readonly final: string },
  options: Options,
): DrawingPiece | undefined {
  const { rows, cols } = options.size;
  switch (final) {
    case "m":
      return COLOURS.test(parameters)
        ? sequence(clamped(parameters, [LARGEST_COLOUR]), { final, work: 0 })
        : undefined;
    case "J":
    case "K":
      return ERASE.test(parameters)
        ? sequence(parameters, { final, work: final === "J" ? rows * cols : 2 * cols })
        : undefined;
    case "s":
    case "u":
      return parameters === "" ? sequence(parameters, { final, work: 0 }) : undefined;
    case "h":
    case "l":
      return mode(parameters, { final, ...options });
    default: {
      const shape = shapeOf(final, options);
      // With more than one number, T would turn on mouse tracking.
      const numbers = final === "T" ? ONE_NUMBER : NUMBERS;
      if (shape === undefined || !numbers.test(parameters)) return undefined;
      const passed = clamped(parameters, shape.most);
      const count = Math.max(1, Number.parseInt(passed) || 0);
      return sequence(passed, { final, work: shape.work(count) });
    }
  }
}

function characterWork({ size: { cols } }: DrawingTarget, inserts: boolean): number {
  return CHARACTER_WORK + (inserts ? 2 * cols : 0);
}

/** The work of moving all rows by one row. */
function lineWork({ size: { cols } }: DrawingTarget): number {
  return 4 * cols;
}

/** The known limits of a sequence that moves, scrolls, inserts, deletes, repeats or sets a region. */
function shapeOf(final: string, options: Options): Shape | undefined {
  const { rows, cols } = options.size;
  const little = () => 0;
  switch (final) {
    case "A":
    case "B":
    case "E":
    case "F":
    case "d":
    case "e":
      return { most: [rows], work: little };
    case "C":
    case "D":
    case "G":
    case "`":
    case "a":
      return { most: [cols], work: little };
    case "H":
    case "f":
      return { most: [rows, cols], work: little };
    case "r":
      return { most: [rows], work: little };
    case "I":
    case "Z":
      return { most: [cols], work: (count) => 20 * count };
    case "@":
    case "P":
    case "X":
      return { most: [cols], work: () => 8 * cols };
    case "L":
    case "M":
    case "S":
    case "T":
      return { most: [rows], work: (count) => lineWork(options) * count };
    case "b": {
      // The repeated text is the last cell with all its joined characters.
      const each = 1 + options.marks;
      const work = each * characterWork(options, options.inserts);
      return { most: [Math.ceil(rows * cols / each)], work: (count) => work * count };
    }
    default:
      return undefined;
  }
}

function mode(
  parameters: string,
  { final, otherScreen, size: { rows, cols } }: DrawingTarget & { readonly final: string },
): DrawingPiece | undefined {
  // Insert mode.
  if (parameters === "4") return sequence(parameters, { final, work: 0 });
  if (!parameters.startsWith("?")) return undefined;
  let text = "";
  let work = 0;
  for (const name of parameters.slice(1).split(";", MOST_MODES)) {
    const isOther = OTHER_SCREEN.has(name);
    if (!isOther && !LOOKS.has(name)) continue;
    text += isOther && !otherScreen ? CLEAR_SCREEN : `\x1b[?${name}${final}`;
    work += SEQUENCE_WORK + (isOther ? 2 * rows * cols : 0);
  }
  return text === "" ? undefined : { text, work };
}

function sequence(
  parameters: string,
  { final, work }: { readonly final: string; readonly work: number },
): DrawingPiece {
  return { text: `\x1b[${parameters}${final}`, work: SEQUENCE_WORK + work };
}

/** The numbers, limited to their largest values. The last limit also applies to further numbers. */
function clamped(parameters: string, most: readonly number[]): string {
  let index = 0;
  return parameters.replace(/\d+|;/gu, (part) => {
    if (part === ";") {
      index++;
      return part;
    }
    const limit = most[Math.min(index, most.length - 1)] as number;
    return `${Math.min(Number(part), limit)}`;
  });
}

function concatenate(first: Uint8Array, second: Uint8Array): Uint8Array {
  if (first.length === 0) return second;
  const all = new Uint8Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}

/** The number of bytes at the end of a text that begin an incomplete character (UTF-8). */
function unfinishedLength(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] as number;
    if (byte < 0x80) return 0;
    if (byte < 0xc0) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return back < length ? back : 0;
  }
  return 0;
}
