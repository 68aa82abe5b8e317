/** Takes the secrets out of a text; each leaves the word `[redacted]`, and what is no secret stays as it is. */
export type Redact = (text: string) => string;

/** What stands where a secret stood. */
export const REDACTED = "[redacted]";

/**
 * Redacts a text that was cut into pieces, so that a secret is found across a cut too. What stands for it is in the
 * piece in which it began.
 *
 * @returns as many pieces
 */
export function redactPieces(pieces: readonly string[], redact: Redact): readonly string[] {
  const whole = pieces.join("");
  const redacted = redact(whole);
  if (redacted === whole) return pieces;
  const gaps = redactedGaps(whole, redacted);
  // A redactor that does more than to take out cannot be followed to the cuts.
  if (gaps === undefined) return pieces.map((_, index) => index === 0 ? redacted : "");
  let end = 0;
  let from = 0;
  return pieces.map((piece, index) => {
    end += piece.length;
    const to = index === pieces.length - 1 ? redacted.length : placeAfter(end, gaps);
    const cut = redacted.slice(from, to);
    from = to;
    return cut;
  });
}

/** A part of a text that a redacted text does not have any more. */
export interface RedactedGap {
  readonly start: number;
  readonly end: number;
}

/**
 * The parts of a text that were taken out of it, in order.
 *
 * @returns nothing when the other text is not this one with words `[redacted]` in it
 */
export function redactedGaps(whole: string, redacted: string): readonly RedactedGap[] | undefined {
  const kept = redacted.split(REDACTED);
  const gaps: RedactedGap[] = [];
  let end = 0;
  for (const [index, part] of kept.entries()) {
    const isLast = index === kept.length - 1;
    const at = index === 0 ? 0 : isLast ? whole.length - part.length : whole.indexOf(part, end);
    if (at < end || whole.slice(at, at + part.length) !== part) return undefined;
    if (index > 0) gaps.push({ start: end, end: at });
    end = at + part.length;
  }
  return end === whole.length ? gaps : undefined;
}

/** Where a place in a text is once its gaps are redacted; one inside a gap is behind it. */
function placeAfter(place: number, gaps: readonly RedactedGap[]): number {
  let shift = 0;
  for (const { start, end } of gaps) {
    // A piece that ends where a secret begins does not hold it.
    if (start >= place) break;
    if (place < end) return start + shift + REDACTED.length;
    shift += REDACTED.length - (end - start);
  }
  return place + shift;
}
