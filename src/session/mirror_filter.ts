import {
  SCANNER_START,
  type ScannerState,
  scanTerminal,
  type TerminalToken,
} from "./terminal_scanner.ts";

/** Where the filter stands between two chunks. */
export interface MirrorState {
  readonly scanner: ScannerState;
  /** The beginning of a character that the next chunk may complete. */
  readonly partial: Uint8Array;
}

/** The filter at the beginning of a terminal's output. */
export const MIRROR_START: MirrorState = { scanner: SCANNER_START, partial: new Uint8Array(0) };

/**
 * What is shown of a text: everything visible and the controls that move the cursor. C1 controls are commands to
 * a terminal in UTF-8 as well, and characters that turn the direction of text can make it look like another.
 */
const HIDDEN = /[^\P{C}\p{Co}\p{Cn}\b\t\n\r\u00ad\u200c\u200d]|[\u2028\u2029]/gu;

/** Moves of the cursor, erasing, scrolling, inserting and deleting, tabs and repetition. */
const DRAWING = /^[@A-IK-MPSTXZ`abdefr]$/u;
/** Up to five numbers of up to five digits: no sequence that draws takes more. */
const NUMBERS = /^\d{0,5}(?:;\d{0,5}){0,4}$/u;
const COLOURS = /^[\d;:]{0,256}$/u;
/** Erases on the screen; 3 erases what was there before it. */
const ERASE_SCREEN = /^[012]?$/u;

/** Modes that only change how output looks: origin, line wrap, cursor visibility, synchronized output. */
const LOOKS = new Set(["6", "7", "25", "2026"]);
/** The other screen, which a mirror already is on. */
const OTHER_SCREEN = new Set(["47", "1047", "1049"]);
const CLEAR_SCREEN = "\x1b[2J";

/** Undoes whatever a filtered output can have set, on the screen it was shown on. */
export const MIRROR_RESET = "\x1b[?2026l\x1b[?6l\x1b[?7h\x1b[4l\x1b[r\x1b[0m\x1b[?25h";

/**
 * What of a child's output another terminal may be given to show the same screen.
 *
 * Only what is known to draw passes: visible text, colours, cursor movement, erasing, scrolling. So the terminal
 * is asked nothing, is put into no mode that types, gets no title, notification or clipboard, and no sequence that
 * nobody knows yet. The result does not depend on how the output was cut into chunks.
 */
export function filterForMirror(
  state: MirrorState,
  bytes: Uint8Array,
): { readonly state: MirrorState; readonly text: string } {
  const { state: scanner, tokens } = scanTerminal(state.scanner, bytes);
  let { partial } = state;
  let text = "";
  for (const token of tokens) {
    if (token.kind === "text") {
      const all = concatenate(partial, token.bytes);
      const end = all.length - unfinishedLength(all);
      text += visible(all.subarray(0, end));
      partial = all.slice(end);
    } else {
      text += visible(partial);
      partial = MIRROR_START.partial;
      text += drawing(token);
    }
  }
  return { state: { scanner, partial }, text };
}

function visible(bytes: Uint8Array): string {
  if (bytes.length === 0) return "";
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes).replace(HIDDEN, "");
}

/** A sequence as it may pass; empty when it may not. */
function drawing(token: Exclude<TerminalToken, { kind: "text" }>): string {
  switch (token.kind) {
    case "string":
      return "";
    case "esc":
      // Save and restore the cursor, down, next line, up.
      return "78DEM".includes(token.final) ? `\x1b${token.final}` : "";
    case "csi":
      return control(token.parameters, token.final);
    default:
      return token satisfies never;
  }
}

function control(parameters: string, final: string): string {
  const whole = `\x1b[${parameters}${final}`;
  switch (final) {
    case "m":
      return COLOURS.test(parameters) ? whole : "";
    case "J":
      return ERASE_SCREEN.test(parameters) ? whole : "";
    case "T":
      // With more than one number it would begin to follow the mouse.
      return /^\d{0,5}$/u.test(parameters) ? whole : "";
    case "s":
    case "u":
      return parameters === "" ? whole : "";
    case "h":
    case "l":
      return mode(parameters, final);
    default:
      return DRAWING.test(final) && NUMBERS.test(parameters) ? whole : "";
  }
}

function mode(parameters: string, final: string): string {
  // Insert mode.
  if (parameters === "4") return `\x1b[4${final}`;
  if (!parameters.startsWith("?")) return "";
  return parameters.slice(1).split(";").map((name) => {
    if (OTHER_SCREEN.has(name)) return CLEAR_SCREEN;
    return LOOKS.has(name) ? `\x1b[?${name}${final}` : "";
  }).join("");
}

function concatenate(first: Uint8Array, second: Uint8Array): Uint8Array {
  if (first.length === 0) return second;
  const all = new Uint8Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}

/** How many bytes at the end of a text begin a character that is not complete yet (UTF-8). */
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
