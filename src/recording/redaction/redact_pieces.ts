/** Takes the secrets out of a text; each leaves the word `[redacted]`, and what is no secret stays as it is. */
export type Redact = (text: string) => string;

/** What stands where a secret stood. */
export const REDACTED = "[redacted]";

/**
 * Redacts a text that was cut into pieces, so that a secret is found across a cut too. What stands for it is in the
 * piece in which it began.
 *
 * @param options.written how many of the pieces are written down already, and can change no more: what stands for a
 * secret that began in them is in the first one behind them
 * @returns as many pieces
 */
export function redactPieces(
  pieces: readonly string[],
  redact: Redact,
  { written = 0 }: { readonly written?: number } = {},
): readonly string[] {
  const whole = pieces.join("");
  const redacted = redact(whole);
  if (redacted === whole) return pieces;
  const gaps = redactedGaps(whole, redacted);
  // A redactor that does more than to take out cannot be followed to the cuts.
  if (gaps === undefined) {
    return pieces.map((_, index) => index === written ? written === 0 ? redacted : REDACTED : "");
  }
  const placeAfter = createPositionMap(gaps);
  let end = 0;
  let from = 0;
  return pieces.map((piece, index) => {
    end += piece.length;
    const to = index === pieces.length - 1
      ? redacted.length
      : placeAfter(end, { marked: index !== written - 1 });
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
    const at = index === 0 ? 0 : isLast ? whole.length - part.length : indexFrom(whole, part, end);
    if (at < end || whole.slice(at, at + part.length) !== part) return undefined;
    if (index > 0) gaps.push({ start: end, end: at });
    end = at + part.length;
  }
  return end === whole.length ? gaps : undefined;
}

/**
 * Where a part of a text is, from a place on; -1 for nowhere. As `indexOf`, which takes the product of both lengths on
 * texts that repeat themselves, but no longer than both together (Knuth, Morris and Pratt).
 */
function indexFrom(text: string, part: string, from: number): number {
  if (part === "") return from;
  // Of each beginning of the part, how much of its end is a beginning of the part too.
  const borders = new Int32Array(part.length + 1);
  const borderWith = (unit: number, length: number): number => {
    let border = length;
    while (border > 0 && part.charCodeAt(border) !== unit) border = borders[border] as number;
    return part.charCodeAt(border) === unit ? border + 1 : 0;
  };
  for (let at = 1; at < part.length; at++) {
    borders[at + 1] = borderWith(part.charCodeAt(at), borders[at] as number);
  }
  let matched = 0;
  for (let at = from; at < text.length; at++) {
    matched = borderWith(text.charCodeAt(at), matched);
    if (matched === part.length) return at + 1 - matched;
  }
  return -1;
}

/**
 * Where places in a text, one behind the other, are once its gaps are redacted; one inside a gap is behind what stands
 * for it if it is `marked`, and before that if not.
 */
function createPositionMap(
  gaps: readonly RedactedGap[],
): (place: number, options: { readonly marked: boolean }) => number {
  let shift = 0;
  let index = 0;
  return (place, { marked }) => {
    for (;; index++) {
      const gap = gaps[index];
      // A piece that ends where a secret begins does not hold it.
      if (gap === undefined || gap.start >= place) return place + shift;
      if (place < gap.end) return gap.start + shift + (marked ? REDACTED.length : 0);
      shift += REDACTED.length - (gap.end - gap.start);
    }
  };
}

/** Levels of a value that are kept: what a recording is read with takes some more. */
const MOST_DEPTH = 400;
const TOO_DEEP = "[nested too deeply]";

/**
 * Creates what redacts JSON values: every string in them, every name of a field, and whatever text a field holds whose
 * name says that it is a secret.
 *
 * @param options.deep what becomes of a value that is nested more deeply than a recording keeps
 */
export function createValueRedactor(
  redact: Redact,
  { deep = () => TOO_DEEP }: { readonly deep?: ((value: object) => unknown) | undefined } = {},
): <Value>(value: Value) => Value {
  const secretNames = new Map<string, boolean>();
  /** Whether a redactor that sees this name with any value takes the value out. */
  const isSecret = (name: string): boolean => {
    const known = secretNames.get(name);
    if (known !== undefined) return known;
    const field = JSON.stringify({ [name]: "whatever it is" });
    const secret = redact(field) !== field;
    secretNames.set(name, secret);
    return secret;
  };
  const redacted = (value: unknown, depth: number): unknown => {
    if (typeof value === "string") return redact(value);
    if (typeof value !== "object" || value === null) return value;
    if (depth > MOST_DEPTH) return deep(value);
    if (Array.isArray(value)) return value.map((item) => redacted(item, depth + 1));
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [
        redact(name),
        typeof item === "string" && item !== "" && isSecret(name)
          ? REDACTED
          : redacted(item, depth + 1),
      ]),
    );
  };
  return <Value>(value: Value) => redacted(value, 0) as Value;
}

/** Takes something out of whatever holds texts. */
export interface TextScrubber {
  readonly text: (text: string) => string;
  /** A JSON value. */
  readonly value: <Value>(value: Value) => Value;
  /**
   * A text that was cut into pieces: as many pieces of what it becomes.
   *
   * @param options.isAnswer whether it is what the model says or thinks
   * @param options.tool the tool that is given it, as JSON
   */
  readonly pieces: (
    pieces: readonly string[],
    options?: { readonly isAnswer: boolean; readonly tool?: string | undefined },
  ) => readonly string[];
}

/** One after the other. */
export function chainScrubbers(...scrubs: readonly TextScrubber[]): TextScrubber {
  return {
    text: (text) => scrubs.reduce((rest, scrub) => scrub.text(rest), text),
    value: (value) => scrubs.reduce((rest, scrub) => scrub.value(rest), value),
    pieces: (pieces, options) =>
      scrubs.reduce((rest, scrub) => scrub.pieces(rest, options), pieces),
  };
}

/**
 * Takes secrets out of whatever holds texts.
 *
 * @param options.deep what becomes of a value that is nested more deeply than a recording keeps
 */
export function createSecretScrubber(
  redact: Redact,
  options: { readonly deep?: (value: object) => unknown } = {},
): TextScrubber {
  return {
    text: redact,
    value: createValueRedactor(redact, options),
    pieces: (pieces) => redactPieces(pieces, redact),
  };
}

/** A text, cut at the places where another one of the same length was. */
export function cutAtSamePlaces(text: string, pieces: readonly string[]): readonly string[] {
  let from = 0;
  return pieces.map(({ length }) => text.slice(from, from += length));
}
