import {
  type Redact,
  REDACTED,
  redactedGaps,
  redactPieces,
} from "../../redaction/redact_pieces.ts";
import { memoizeLast } from "../../redaction/find_secrets.ts";

/** A sequence that has only begun at the end of what was written. */
// deno-lint-ignore no-control-regex
const BEGUN_ESCAPE = /\x1b(?:\[[0-?]*)?[ -/]*$/u;

/**
 * Redacts what was written to a terminal, piece by piece. A secret is found although it is drawn in several colours, or
 * goes on in another row.
 *
 * @param options.written as for `redactPieces()`
 * @returns as many pieces
 */
export function redactTerminal(
  pieces: readonly string[],
  redact: Redact,
  { written = 0 }: { readonly written?: number } = {},
): readonly string[] {
  // What a title or a link names is found as it stands.
  return redactPieces(redactDrawn(pieces, redact, { written }), redact, { written });
}

/**
 * Where in what was written to a terminal something begins that may be a secret with what follows; `Infinity` where there
 * is none.
 *
 * @param openFrom says so of a text
 */
export function openInTerminal(written: string, openFrom: (text: string) => number): number {
  const whole = written.replace(BEGUN_ESCAPE, "");
  const { text, parts } = readAsDrawn(whole);
  const drawn = openFrom(text);
  const part = parts.findLast(({ at, place }) => at <= drawn && place >= 0);
  return Math.min(
    drawn < text.length && part !== undefined ? part.place + drawn - part.at : Infinity,
    openFrom(withoutLastEscapes(whole)),
    whole.length < written.length ? whole.length : Infinity,
  );
}

/** What was written up to the sequences at its end, whose letters no secret begins with. */
function withoutLastEscapes(written: string): string {
  let from = 0;
  let end = -1;
  for (const { 0: { length }, index } of written.matchAll(ESCAPE)) {
    if (index !== end) from = index;
    end = index + length;
  }
  return end === written.length ? written.slice(0, from) : written;
}

function redactDrawn(
  pieces: readonly string[],
  redact: Redact,
  { written: count }: { readonly written: number },
): readonly string[] {
  const written = pieces.join("");
  const from = pieces.slice(0, count).join("").length;
  const { text, parts } = readAsDrawn(written);
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

/** Control sequences and other escapes, ECMA-48; strings, such as titles, are left to be read as they are. */
// deno-lint-ignore no-control-regex
const ESCAPE = /\x1b(?:\[[0-?]*[ -/]*([@-~])|[ -/]*[0-OQ-WYZ`-~\\])/gu;

/** What belongs to the layout of a screen and not to a word on it. */
export const LAYOUT = /[\s│|]/u;

/** A part of the text as it is drawn. */
interface DrawnPart {
  /** Where it begins in that text. */
  readonly at: number;
  /** Where it was written; -1 for a blank that was not. */
  readonly place: number;
}

/** A text as it is drawn, and where its parts were written. */
interface DrawnText {
  readonly text: string;
  readonly parts: readonly DrawnPart[];
}

/** What was written to a terminal as a person would read it. */
export const readAsDrawn: (written: string) => DrawnText = memoizeLast(drawn);

function drawn(written: string): DrawnText {
  const parts: DrawnPart[] = [];
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
    add(drawnInPlaceOf(match[1] ?? ""), -1);
    end = match.index + match[0].length;
  }
  add(written.slice(end), end);
  return { text: texts.join(""), parts };
}

/** What a person sees where a sequence moves the cursor. */
function drawnInPlaceOf(final: string): string {
  if (final === "C" || final === "G") return " ";
  return final !== "" && "ABEFHdf".includes(final) ? "\n" : "";
}
