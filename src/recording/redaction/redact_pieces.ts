/** Replaces each secret in a text by `[redacted]`. All other text is kept. */
export type Redact = (text: string) => string;

/** The text that replaces a secret. */
export const REDACTED = "[redacted]";

/**
 * Redacts a text that is cut into pieces, so that a secret across a cut is also found. The replacement is in the piece
 * in which the secret began.
 *
 * @param options.written how many pieces are already written and cannot change; the replacement of a secret that began
 * in them is in the first piece after them
 * @returns as many pieces
 */
export function redactPieces(
  pieces: readonly string[],
  redact: Redact,
  { written = 0 }: { readonly written?: number } = {},
): readonly string[] {
  const text = pieces.join("");
  const redacted = redact(text);
  if (redacted === text) return pieces;
  const gaps = redactedGaps(text, redacted);
  // The redactor changed more than secrets, so the cuts cannot be mapped.
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

/** A part of a text that was replaced by `[redacted]`. */
interface RedactedGap {
  readonly start: number;
  readonly end: number;
}

/**
 * Returns the parts of a text that were redacted, in order.
 *
 * @returns undefined if the second text is not the first one with `[redacted]` in it
 */
export function redactedGaps(text: string, redacted: string): readonly RedactedGap[] | undefined {
  const kept = redacted.split(REDACTED);
  const gaps: RedactedGap[] = [];
  let end = 0;
  for (const [index, part] of kept.entries()) {
    const isLast = index === kept.length - 1;
    const at = index === 0 ? 0 : isLast ? text.length - part.length : indexFrom(text, part, end);
    if (at < end || text.slice(at, at + part.length) !== part) return undefined;
    if (index > 0) gaps.push({ start: end, end: at });
    end = at + part.length;
  }
  return end === text.length ? gaps : undefined;
}

/**
 * Returns the position of a part in a text, or -1. `indexOf` takes the product of both lengths on repetitive texts;
 * this function takes their sum (Knuth, Morris and Pratt).
 */
function indexFrom(text: string, part: string, from: number): number {
  if (part === "") return from;
  // For each prefix of the part, the length of its longest end that is also a prefix.
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
 * Creates a function that maps ascending positions of a text to positions of the redacted text. A position inside a gap
 * maps to the end of its replacement if the replacement is `marked`, and otherwise to the start.
 */
function createPositionMap(
  gaps: readonly RedactedGap[],
): (place: number, options: { readonly marked: boolean }) => number {
  let shift = 0;
  let index = 0;
  return (place, { marked }) => {
    for (;; index++) {
      const gap = gaps[index];
      // A piece that ends where a secret begins does not contain it.
      if (gap === undefined || gap.start >= place) return place + shift;
      if (place < gap.end) return gap.start + shift + (marked ? REDACTED.length : 0);
      shift += REDACTED.length - (gap.end - gap.start);
    }
  };
}

/** The maximum depth of a value that is kept. Readers of recordings accept a few more levels. */
const MOST_DEPTH = 400;
const TOO_DEEP = "[nested too deeply]";

/**
 * Creates a function that redacts JSON values: each string, each field name, and the text text of a field whose name
 * says that it is a secret.
 *
 * @param options.deep replaces a value that is nested more deeply than a recording keeps
 */
export function createValueRedactor(
  redact: Redact,
  { deep = () => TOO_DEEP }: { readonly deep?: ((value: object) => unknown) | undefined } = {},
): <Value>(value: Value) => Value {
  const secretNames = new Map<string, boolean>();
  /** True if the redactor removes every value of a field with this name. */
  const isSecret = (name: string): boolean => {
    const cached = secretNames.get(name);
    if (cached !== undefined) return cached;
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

/** Changes texts wherever they are: in strings, JSON values and pieces of a stream. */
export interface TextScrubber {
  readonly text: (text: string) => string;
  readonly value: <Value>(value: Value) => Value;
  /**
   * Changes a text that is cut into pieces, and returns as many pieces.
   *
   * @param options.isAnswer true if the text is an answer or a thought of the model
   * @param options.tool the tool whose JSON input the text is
   */
  readonly pieces: (
    pieces: readonly string[],
    options?: { readonly isAnswer: boolean; readonly tool?: string | undefined },
  ) => readonly string[];
}

/** Applies scrubbers one after the other. */
export function chainScrubbers(...scrubs: readonly TextScrubber[]): TextScrubber {
  return {
    text: (text) => scrubs.reduce((rest, scrub) => scrub.text(rest), text),
    value: (value) => scrubs.reduce((rest, scrub) => scrub.value(rest), value),
    pieces: (pieces, options) =>
      scrubs.reduce((rest, scrub) => scrub.pieces(rest, options), pieces),
  };
}

/**
 * Creates a scrubber that removes secrets.
 *
 * @param options.deep replaces a value that is nested more deeply than a recording keeps
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

/** Cuts a text at the places where a text of the same length was cut. */
export function cutAtSamePlaces(text: string, pieces: readonly string[]): readonly string[] {
  let from = 0;
  return pieces.map(({ length }) => text.slice(from, from += length));
}
