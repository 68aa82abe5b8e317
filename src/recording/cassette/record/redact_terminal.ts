import { ESCAPE, LAYOUT, readAsDrawn } from "./read_as_drawn.ts";
import {
  type Redact,
  REDACTED,
  redactedGaps,
  redactPieces,
} from "../../redaction/redact_pieces.ts";

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
