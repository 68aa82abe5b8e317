/** Kinds of characters. */
const KINDS = {
  word: /^\w$/u,
  token: /^[\w-]$/u,
  bearer: /^[\w.~+/-]$/u,
  value: /^[\w.~+/=-]$/u,
  equals: /^=$/u,
  base64: /^[\w+/]$/u,
  padded: /^[\w+/=]$/u,
  capital: /^[A-Z ]$/u,
  /** The characters that a terminal, or a frame around a text, draws next to a wrapped word. */
  blank: /^[ \t│|]$/u,
  backslash: /^\\$/u,
  space: /^\s$/u,
  gap: /^[\s│|]$/u,
  layout: /^[\s│|\\]$/u,
  quoted: /^[^"\\]$/u,
  address: /^[^\s/:@]$/u,
} as const;

export type CharacterKind = keyof typeof KINDS;

/** For each kind, which ASCII characters belong to it. */
const ASCII = Object.fromEntries(
  Object.entries(KINDS).map(([kind, pattern]) => [
    kind,
    Array.from({ length: 128 }, (_, code) => pattern.test(String.fromCharCode(code))),
  ]),
) as { readonly [Kind in CharacterKind]?: readonly boolean[] };

interface Run {
  readonly start: number;
  readonly end: number;
  /** The position of the run's last digit; -1 for none. */
  readonly lastDigit: number;
}

/** The number of remembered runs. The runs before and after a mark are then still known at the next mark. */
const MAX_RUNS = 4;

/**
 * Reads a text in runs of characters of one kind. It remembers the last runs, so that repeated questions take
 * constant time.
 */
export class TextReader {
  readonly text: string;
  /** The number of examined characters and answered questions, as a measure of the time. */
  steps = 0;
  /** True if a question since the last reset reached the end of the text. Then more text could change the answer. */
  hasReachedEnd = false;
  readonly #runs = new Map<CharacterKind, Run[]>();

  constructor(text: string) {
    this.text = text;
  }

  /** True if the character at a position is of the given kind; false outside the text. */
  is(kind: CharacterKind, at: number): boolean {
    this.steps++;
    const code = this.text.charCodeAt(at);
    if (code < 128) return ASCII[kind]?.[code] === true;
    if (at >= this.text.length) this.hasReachedEnd = true;
    return !Number.isNaN(code) && KINDS[kind].test(this.text.charAt(at));
  }

  /** Returns the end of the run of a kind that contains a position. */
  runEnd(kind: CharacterKind, at: number): number {
    return this.#runAt(kind, at).end;
  }

  /** True if there is a digit between a position and the end of its run. */
  hasDigit(kind: CharacterKind, at: number): boolean {
    return this.#runAt(kind, at).lastDigit >= at;
  }

  /**
   * Returns where a wrapped word continues in the next row: after blanks and frames, one line end, and blanks and
   * frames again. Undefined if no row ends here. In JSON a line end is `\\n`, with more backslashes in nested JSON.
   */
  nextRow(at: number): number | undefined {
    const end = this.runEnd("blank", at);
    const lineFeed = this.#afterCharacter("\r", "r", end) ?? end;
    const row = this.#afterCharacter("\n", "n", lineFeed);
    return row === undefined ? undefined : this.runEnd("blank", row);
  }

  /** Returns the position after a character, or after its escape in JSON. */
  #afterCharacter(character: string, letter: string, at: number): number | undefined {
    if (this.text[at] === character) return at + 1;
    const spelled = this.runEnd("backslash", at);
    return spelled > at && this.text[spelled] === letter ? spelled + 1 : undefined;
  }

  #runAt(kind: CharacterKind, at: number): Run {
    const runs = this.#runs.get(kind) ?? [];
    this.steps++;
    const known = runs.find(({ start, end }) => start <= at && at <= end);
    if (known !== undefined) {
      if (known.end === this.text.length) this.hasReachedEnd = true;
      return known;
    }
    let end = at;
    let lastDigit = -1;
    while (this.is(kind, end)) {
      const code = this.text.charCodeAt(end);
      if (code >= 0x30 && code <= 0x39) lastDigit = end;
      end++;
    }
    const run = { start: at, end, lastDigit };
    this.#runs.set(kind, [run, ...runs.slice(0, MAX_RUNS - 1)]);
    return run;
  }
}

/**
 * Tokens that are longer than a row. A token continues in the next row if the row begins with 16 or more of its
 * characters, including a digit.
 */
export class WrappedTokens {
  readonly #reader: TextReader;
  #from = -1;
  #to = -1;

  constructor(reader: TextReader) {
    this.#reader = reader;
  }

  /** Returns the end of a token that fills its row up to a position. */
  endOfWrapped(place: number): number {
    // The last search covered this position. It is at the end or in the middle of a row.
    if (place >= this.#from && place <= this.#to) {
      return this.#reader.is("token", place) ? place : this.#to;
    }
    let end = place;
    for (;;) {
      const next = this.#reader.nextRow(end);
      if (next === undefined) break;
      const rowEnd = this.#reader.runEnd("token", next);
      if (rowEnd - next < 16 || !this.#reader.hasDigit("token", next)) break;
      end = rowEnd;
    }
    this.#from = place;
    this.#to = end;
    return end;
  }
}

export interface TextSpan {
  readonly start: number;
  readonly end: number;
}

/** The parts of a text to remove. */
export class Cuts {
  readonly #spans: TextSpan[] = [];
  readonly #starts = new Set<number>();
  readonly #ends = new Set<number>();
  #openFrom = Infinity;

  add(start: number, end: number): void {
    this.#spans.push({ start, end });
    this.#starts.add(start);
    this.#ends.add(end);
  }

  /** Records that more text may make a secret, or a longer one, of the text from this position on. */
  leaveOpen(start: number): void {
    this.#openFrom = Math.min(this.#openFrom, start);
  }

  /** The first open position; `Infinity` if there is none. */
  get openFrom(): number {
    return this.#openFrom;
  }

  beginsAt(place: number): boolean {
    return this.#starts.has(place);
  }

  endsAt(place: number): boolean {
    return this.#ends.has(place);
  }

  merged(): readonly TextSpan[] {
    const merged: TextSpan[] = [];
    for (const span of this.#spans.toSorted((one, other) => one.start - other.start)) {
      const last = merged.at(-1);
      if (last === undefined || span.start >= last.end) merged.push(span);
      else if (span.end > last.end) {
        merged[merged.length - 1] = { start: last.start, end: span.end };
      }
    }
    return merged;
  }
}

/** Finds private keys from their first line to their last. A key without a last line ends with its lines of base64. */
export class PrivateKeys {
  readonly #reader: TextReader;
  readonly #cuts: Cuts;
  #open: TextSpan[] = [];

  constructor(reader: TextReader, cuts: Cuts) {
    this.#reader = reader;
    this.#cuts = cuts;
  }

  begin({ start, end }: TextSpan): void {
    const lineEnd = this.#lineEnd(end);
    if (lineEnd !== undefined) this.#open.push({ start, end: lineEnd });
  }

  end({ start, end }: TextSpan): void {
    const [first] = this.#open;
    const lineEnd = this.#lineEnd(end);
    if (first === undefined || lineEnd === undefined || first.end > start) return;
    this.#cuts.add(first.start, lineEnd);
    this.#open = this.#open.filter((key) => key.end > start);
  }

  finish(): void {
    for (const { start, end } of this.#open) {
      this.#cuts.add(start, this.#linesEnd(end));
      this.#cuts.leaveOpen(start);
    }
  }

  /** Returns where the line of a private key ends, if `BEGIN ` or `END ` before a position starts one. */
  #lineEnd(place: number): number | undefined {
    const end = this.#reader.runEnd("capital", place);
    const isKey = this.#reader.text.slice(Math.max(place, end - 11), end) === "PRIVATE KEY" &&
      this.#reader.text.startsWith("-----", end);
    return isKey ? end + 5 : undefined;
  }

  #linesEnd(place: number): number {
    for (let end = place;;) {
      let next = end;
      for (let from = -1; next !== from;) {
        from = next;
        next = this.#reader.runEnd("gap", from);
        if (this.#reader.text.startsWith("\\n", next)) next += 2;
      }
      const lineEnd = this.#reader.runEnd("padded", next);
      if (lineEnd - next < 16) return end;
      end = lineEnd;
    }
  }
}
