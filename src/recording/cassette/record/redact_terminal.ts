import {
  type Redact,
  REDACTED,
  redactedGaps,
  redactPieces,
} from "../../redaction/redact_pieces.ts";
import { memoizeLast } from "../../redaction/find_secrets.ts";

/** An incomplete sequence at the end of the output. */
// deno-lint-ignore no-control-regex
const BEGUN_ESCAPE = /\x1b(?:\[[0-?]*)?[ -/]*$/u;

/**
 * Redacts output to a terminal in pieces. Finds a secret in several colours or on several rows.
 *
 * @param options.written as for `redactPieces()`
 * @returns as many pieces
 */
export function redactTerminal(
  pieces: readonly string[],
  redact: Redact,
  { written = 0 }: { readonly written?: number } = {},
): readonly string[] {
  // Redacts the visible text first, then all of the output, because titles and links hold text that is not visible.
  return redactPieces(redactVisible(pieces, redact, { written }), redact, { written });
}

/**
 * Finds where output begins to look like a secret that the following output may complete.
 *
 * @param openFrom finds this position in a plain text
 * @returns a position in the output, or `Infinity`
 */
export function findOpenSecret(written: string, openFrom: (text: string) => number): number {
  const complete = written.replace(BEGUN_ESCAPE, "");
  const { text, parts } = visibleText(complete);
  const visible = openFrom(text);
  const part = parts.findLast(({ at, place }) => at <= visible && place >= 0);
  return Math.min(
    visible < text.length && part !== undefined ? part.place + visible - part.at : Infinity,
    openFrom(withoutLastEscapes(complete)),
    complete.length < written.length ? complete.length : Infinity,
  );
}

/** The output without the sequences at its end, because no secret begins with their letters. */
function withoutLastEscapes(written: string): string {
  let from = 0;
  let end = -1;
  for (const { 0: { length }, index } of written.matchAll(ESCAPE)) {
    if (index !== end) from = index;
    end = index + length;
  }
  return end === written.length ? written.slice(0, from) : written;
}

function redactVisible(
  pieces: readonly string[],
  redact: Redact,
  { written: count }: { readonly written: number },
): readonly string[] {
  const written = pieces.join("");
  const from = pieces.slice(0, count).join("").length;
  const { text, parts } = visibleText(written);
  const redacted = redact(text);
  const gaps = redacted === text ? [] : redactedGaps(text, redacted) ?? [];
  if (gaps.length === 0) return pieces;
  const out = new Set<number>();
  const marks = new Set<number>();
  let index = 0;
  for (const { start, end } of gaps) {
    let isMarked = false;
    for (let at = start; at < end; at++) {
      while (at >= (parts[index + 1]?.at ?? Infinity)) index++;
      const part = parts[index] as NonNullable<(typeof parts)[number]>;
      const place = part.place + at - part.at;
      if (part.place < 0 || LAYOUT.test(text.charAt(at))) continue;
      out.add(place);
      if (place < from) continue;
      if (!isMarked) marks.add(place);
      isMarked = true;
    }
  }
  let offset = 0;
  return pieces.map((piece) => {
    const start = offset;
    offset += piece.length;
    return withoutPlaces(piece, { start, out, marks });
  });
}

function withoutPlaces(
  piece: string,
  options: {
    readonly start: number;
    readonly out: ReadonlySet<number>;
    readonly marks: ReadonlySet<number>;
  },
): string {
  let text = "";
  for (let at = 0; at < piece.length; at++) {
    const place = options.start + at;
    if (options.marks.has(place)) text += REDACTED;
    if (!options.out.has(place)) text += piece.charAt(at);
  }
  return text;
}

/**
 * Control sequences and other escapes of ECMA-48. Strings, such as titles, are excluded: their text is redacted
 * unchanged.
 */
// deno-lint-ignore no-control-regex
const ESCAPE = /\x1b(?:\[[0-?]*[ -/]*([@-~])|[ -/]*[0-OQ-WYZ`-~\\])/gu;

/** Characters between words on a screen. */
export const LAYOUT = /[\s│|]/u;

/** A part of the visible text. */
interface VisiblePart {
  /** The part's position in the visible text. */
  readonly at: number;
  /** The part's position in the output; -1 for a blank that replaces a cursor movement. */
  readonly place: number;
}

/** The visible text of some output, and the origins of its parts. */
interface VisibleText {
  readonly text: string;
  readonly parts: readonly VisiblePart[];
}

/** Returns the text of a terminal's output that a person sees. */
export const visibleText: (written: string) => VisibleText = memoizeLast(findVisibleText);

function findVisibleText(written: string): VisibleText {
  const parts: VisiblePart[] = [];
  const texts: string[] = [];
  let length = 0;
  const add = (text: string, place: number) => {
    if (text === "") return;
    parts.push({ at: length, place });
    texts.push(text);
    length += text.length;
  };
  let end = 0;
  for (const match of written.matchAll(ESCAPE)) {
    add(written.slice(end, match.index), end);
    add(textForEscape(match[1] ?? ""), -1);
    end = match.index + match[0].length;
  }
  add(written.slice(end), end);
  return { text: texts.join(""), parts };
}

/** The blank that a person sees where a sequence moves the cursor. */
function textForEscape(final: string): string {
  if (final === "C" || final === "G") return " ";
  return final !== "" && "ABEFHdf".includes(final) ? "\n" : "";
}
