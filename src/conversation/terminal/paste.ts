const encoder = new TextEncoder();

/** The keys that submit the text in the input box. */
export const ENTER: Uint8Array = encoder.encode("\r");

/**
 * Why a paste would change a prompt; undefined if it would not (2.1.330).
 *
 * The input box interprets escapes and controls, turns a tab into four spaces and a carriage return into a newline,
 * trims the end, treats Enter after a backslash as a newline, and runs text that begins with `!` in a shell. It does
 * not show marks of the writing direction unchanged, so the paste would not be recognised.
 */
export function pasteRefusal(prompt: string): string | undefined {
  // deno-lint-ignore no-control-regex
  const control = /[\x00-\x09\x0b-\x1f\x7f-\x9f]/u.exec(prompt);
  if (control !== null) {
    return `the control character ${placeOf(control)} would be taken as a key`;
  }
  const mark = /\p{Bidi_Control}/u.exec(prompt);
  if (mark !== null) return `the direction mark ${placeOf(mark)} would be shown as something else`;
  if (prompt.startsWith("!")) return 'a paste that begins with "!" is run as a shell command';
  if (prompt.endsWith("\\")) return "a backslash at its end turns Enter into a newline";
  if (prompt !== prompt.trimEnd()) return "white space at its end is trimmed";
  return undefined;
}

/** A found character, described by its code and its offset. */
function placeOf({ 0: character, index }: RegExpExecArray): string {
  const code = (character.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, "0");
  return `U+${code} at offset ${index}`;
}

/**
 * The maximum number of newlines in one paste. 2.1.330 wraps a paste of 4 or more lines, or of more than 800
 * characters, in tags that the model sees.
 */
const PIECE_NEWLINES = 2;
const PIECE_LENGTH = 600;
/** The maximum number of pastes for a prompt. Each paste takes time, so a longer prompt is pasted at once. */
const MAX_PIECES = 100;

/**
 * A prompt as bracketed pastes, without the Enter that submits it.
 *
 * Several small pastes in a row become one text in the input box, and each stays below the size that 2.1.330 wraps. A
 * prompt of too many pieces is one paste: 2.1.285 takes it unchanged. 2.1.332 wraps it, and the run fails with an
 * error.
 */
export function encodePaste(prompt: string): Uint8Array {
  const pieces = piecesOf(prompt);
  const pastes = pieces.length > MAX_PIECES ? [prompt] : pieces;
  return encoder.encode(pastes.map((piece) => `\x1b[200~${piece}\x1b[201~`).join(""));
}

/** Splits a text between two ASCII characters, because those never belong together as the characters of an emoji do. */
function piecesOf(prompt: string): readonly string[] {
  const pieces: string[] = [];
  let from = 0;
  let newlines = 0;
  for (let at = 1; at < prompt.length; at++) {
    if (prompt[at - 1] === "\n") newlines++;
    const full = newlines >= PIECE_NEWLINES || at - from >= PIECE_LENGTH;
    if (!full || prompt.charCodeAt(at - 1) > 0x7e || prompt.charCodeAt(at) > 0x7e) continue;
    pieces.push(prompt.slice(from, at));
    from = at;
    newlines = 0;
  }
  return [...pieces, prompt.slice(from)];
}

/** The terminal's output after a paste, collected until it shows the paste. */
export interface EchoState {
  /** The last visible bytes without blanks, one character each. They are enough to find the sample across chunks. */
  readonly seen: string;
  /** The bytes that are looked for: the last visible bytes of the prompt; absent before the first look. */
  readonly sample?: string;
  /** When the sample was first missing from the screen, in milliseconds. */
  readonly missedSince?: number;
}

/** The state before any output. */
export const ECHO_START: EchoState = { seen: "" };

/** The state after a time in which nobody could look, in milliseconds. */
export function missedLater(state: EchoState, ms: number): EchoState {
  const { missedSince } = state;
  return missedSince === undefined ? state : { ...state, missedSince: missedSince + ms };
}

/** The number of bytes at the prompt's end that must be seen. A longer paste is shown as a placeholder. */
const SAMPLE = 8;
const PLACEHOLDER = "[Pasted";

/**
 * Whether the input box shows the pasted text: its last characters, or the placeholder of a long paste.
 *
 * The comparison ignores blanks, because the TUI may move the cursor instead of writing them. It compares bytes and not
 * characters, because a chunk may end inside a character.
 */
export function seeEcho(
  state: EchoState,
  options: { readonly visible: Uint8Array; readonly prompt: string },
): { readonly state: EchoState; readonly echoed: boolean } {
  const seen = state.seen + inkOf(options.visible);
  const sample = state.sample ?? inkOf(encoder.encode(options.prompt)).slice(-SAMPLE);
  const echoed = seen.includes(PLACEHOLDER) || (sample !== "" && seen.includes(sample));
  return { state: { ...state, seen: seen.slice(-64), sample }, echoed };
}

/** The form in which the input box shows an image, without blanks. */
const IMAGE_MARK = /\[Image#(\d+)\]/gu;

/**
 * Looks for the image whose path was pasted. Claude Code reads the file, and numbers all images of a session.
 *
 * @param options.after the number of the previous image
 * @returns the number of the image, once it is shown
 */
export function seeImage(
  state: EchoState,
  options: { readonly visible: Uint8Array; readonly after: number },
): { readonly state: EchoState; readonly image: number | undefined } {
  const seen = state.seen + inkOf(options.visible);
  const numbers = [...seen.matchAll(IMAGE_MARK)].map(([, number]) => Number(number));
  const image = numbers.find((number) => number > options.after);
  return { state: { ...state, seen: seen.slice(-64) }, image };
}

/** Bytes as characters, without ASCII blanks and controls. */
function inkOf(bytes: Uint8Array): string {
  let ink = "";
  for (const byte of bytes) if (byte > 0x20) ink += String.fromCharCode(byte);
  return ink;
}
