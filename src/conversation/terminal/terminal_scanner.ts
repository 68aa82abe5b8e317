/**
 * One thing found in a terminal's output: an escape sequence, or visible text.
 *
 * `csi` carries parameters and intermediates as written (`?2004`) and the final byte (`h`); `string` is an
 * OSC, DCS, APC, PM or SOS with its introducer; `esc` is every other escape, with what stands before its final
 * byte (`(` of the one that selects a character set).
 */
export type TerminalToken =
  | { readonly kind: "csi"; readonly parameters: string; readonly final: string }
  | { readonly kind: "string"; readonly introducer: string; readonly content: string }
  | { readonly kind: "esc"; readonly intermediates: string; readonly final: string }
  | { readonly kind: "text"; readonly bytes: Uint8Array };

/** Where the scanner stands between two chunks. */
export interface ScannerState {
  readonly mode: "ground" | "escape" | "csi" | "string" | "string-escape";
  readonly introducer: string;
  readonly collected: string;
}

/** The scanner at the beginning of a terminal's output. */
export const SCANNER_START: ScannerState = { mode: "ground", introducer: "", collected: "" };

/** Longest part of one sequence that is kept; what exceeds it is dropped, the sequence still ends where it ends. */
const MAX_COLLECTED = 4096;

const ESC = 0x1b;
const BEL = 0x07;
const CAN = 0x18;
const SUB = 0x1a;
const STRING_INTRODUCERS = "]PX^_";

/** Visible text, of which few look at the bytes: to cut them out takes longer than to find them. */
class Text {
  readonly kind = "text";
  readonly #bytes: Uint8Array;
  readonly #from: number;
  readonly #to: number;

  constructor(bytes: Uint8Array, from: number, to: number) {
    this.#bytes = bytes;
    this.#from = from;
    this.#to = to;
  }

  get bytes(): Uint8Array {
    return this.#bytes.subarray(this.#from, this.#to);
  }
}

/** All characters of ASCII. */
const ASCII = Array.from({ length: 0x80 }, (_, code) => String.fromCharCode(code));

/**
 * Where the control sequence ends that begins at a byte, if it is one and is there to its end, as most of what Claude Code
 * writes is.
 */
function endOfCsi(bytes: Uint8Array, from: number): number | undefined {
  if (bytes[from + 1] !== 0x5b) return undefined;
  const most = Math.min(bytes.length, from + 2 + MAX_COLLECTED);
  for (let at = from + 2; at < most; at++) {
    const byte = bytes[at] as number;
    if (byte >= 0x40 && byte <= 0x7e) return at;
    if (byte < 0x20 || byte > 0x7e) return undefined;
  }
  return undefined;
}

function asciiOf(bytes: Uint8Array, from: number, to: number): string {
  let text = "";
  for (let at = from; at < to; at++) text += ASCII[bytes[at] as number];
  return text;
}

/**
 * Splits terminal output into escape sequences and text, across any chunk boundary (ECMA-48).
 *
 * 8-bit C1 controls are text here: Claude Code writes UTF-8, where those bytes continue a character.
 *
 * @param options.only the final byte of the control sequences that matter: others, and text, need not be told
 * @returns the tokens of this chunk in order, and the state to give with the next chunk
 */
export function scanTerminal(
  state: ScannerState,
  bytes: Uint8Array,
  { only }: { readonly only?: string | undefined } = {},
): { readonly state: ScannerState; readonly tokens: readonly TerminalToken[] } {
  const tokens: TerminalToken[] = [];
  let { mode, introducer, collected } = state;
  let at = 0;
  const collect = (byte: number) => {
    if (collected.length < MAX_COLLECTED) collected += String.fromCharCode(byte);
  };
  while (at < bytes.length) {
    if (mode === "ground") {
      const next = bytes.indexOf(ESC, at);
      const end = next < 0 ? bytes.length : next;
      if (end > at && only === undefined) tokens.push(new Text(bytes, at, end));
      if (next < 0) break;
      const last = endOfCsi(bytes, end);
      if (last !== undefined) {
        const final = ASCII[bytes[last] as number] as string;
        if (only === undefined || only === final) {
          tokens.push({ kind: "csi", parameters: asciiOf(bytes, end + 2, last), final });
        }
        at = last + 1;
        continue;
      }
      mode = "escape";
      collected = "";
      at = end + 1;
      continue;
    }
    const byte = bytes[at] as number;
    at++;
    if (byte === CAN || byte === SUB) {
      mode = "ground";
      continue;
    }
    switch (mode) {
      case "escape": {
        const char = String.fromCharCode(byte);
        if (byte >= 0x20 && byte < 0x30) {
          collect(byte);
        } else if (byte === ESC) {
          collected = "";
        } else if (collected === "" && char === "[") {
          mode = "csi";
        } else if (collected === "" && STRING_INTRODUCERS.includes(char)) {
          mode = "string";
          introducer = char;
        } else {
          tokens.push({ kind: "esc", intermediates: collected, final: char });
          mode = "ground";
        }
        break;
      }
      case "csi":
        if (byte === ESC) {
          mode = "escape";
          collected = "";
        } else if (byte >= 0x40 && byte <= 0x7e) {
          tokens.push({ kind: "csi", parameters: collected, final: String.fromCharCode(byte) });
          mode = "ground";
        } else if (byte >= 0x20 && byte < 0x40) {
          collect(byte);
        }
        break;
      case "string":
        if (byte === BEL) {
          tokens.push({ kind: "string", introducer, content: collected });
          mode = "ground";
        } else if (byte === ESC) {
          mode = "string-escape";
        } else {
          collect(byte);
        }
        break;
      case "string-escape":
        tokens.push({ kind: "string", introducer, content: collected });
        mode = "ground";
        // Only a backslash belongs to the terminator; anything else begins a new escape.
        if (byte !== 0x5c) {
          mode = "escape";
          collected = "";
          at--;
        }
        break;
      default:
        mode satisfies never;
    }
  }
  // Between sequences nothing is remembered: most output leaves the state as it was.
  return { state: mode === "ground" ? SCANNER_START : { mode, introducer, collected }, tokens };
}

/** The final byte of the probes that are answered. */
export const PROBE_FINAL = "c";
/** Parameters of the two spellings of DA1. */
const DA1: readonly string[] = ["", "0"];
/** What a VT102 answers. */
const DA1_REPLY = "\x1b[?6c";

/**
 * The replies to what a chunk's tokens ask of the terminal, in their order.
 *
 * DA1 alone is answered, every time, which measured best: on 2.1.330 silence costs up to 0.1 s before the first request
 * and 0.25 s at exit, while an answer to XTVERSION starts a second round of probes. DA2, the cursor's place (DSR) and the
 * size (XTWINOPS 18) are asked too and nothing waits for them. Other probes are ignored, as most terminals do.
 */
export function answerProbes(tokens: readonly TerminalToken[]): string {
  const asked = tokens.filter((token) =>
    token.kind === "csi" && token.final === PROBE_FINAL && DA1.includes(token.parameters)
  );
  return DA1_REPLY.repeat(asked.length);
}
