/** Kinds of characters that runs of a text are made of. */
const KINDS = {
  word: /^\w$/u,
  token: /^[\w-]$/u,
  bearer: /^[\w.~+/-]$/u,
  value: /^[\w.~+/=-]$/u,
  equals: /^=$/u,
  base64: /^[\w+/]$/u,
  padded: /^[\w+/=]$/u,
  capital: /^[A-Z ]$/u,
  /** What a terminal, or a frame around a text, puts beside a word that is too long for a row. */
  blank: /^[ \t│|]$/u,
  backslash: /^\\$/u,
  space: /^\s$/u,
  gap: /^[\s│|]$/u,
  layout: /^[\s│|\\]$/u,
  quoted: /^[^"\\]$/u,
  address: /^[^\s/:@]$/u,
} as const;

/** A kind of characters. */
export type CharacterKind = keyof typeof KINDS;

/** Of each kind, which ASCII characters are of it. */
const ASCII = Object.fromEntries(
  Object.entries(KINDS).map(([kind, pattern]) => [
    kind,
    Array.from({ length: 128 }, (_, code) => pattern.test(String.fromCharCode(code))),
  ]),
) as { readonly [Kind in CharacterKind]?: readonly boolean[] };

interface Run {
  readonly start: number;
  readonly end: number;
  /** Where its last digit is; -1 for none. */
  readonly lastDigit: number;
}

/** Enough that what is read before and after a place is still known when the next place is looked at. */
const MAX_RUNS = 4;

/** Reads a text in runs of characters of a kind, no run more than a few times however often it is asked for. */
export class TextReader {
  readonly text: string;
  /** Characters that were looked at, and answers that were given, so far. */
  steps = 0;
  /** Whether the end of the text was looked at since this was last set: what follows could have been another answer. */
  hasReachedEnd = false;
  readonly #runs = new Map<CharacterKind, Run[]>();

  constructor(text: string) {
    this.text = text;
  }

  /** Whether the character at a place is of a kind; there is none outside the text. */
  is(kind: CharacterKind, at: number): boolean {
    this.steps++;
    const code = this.text.charCodeAt(at);
    if (code < 128) return ASCII[kind]?.[code] === true;
    if (at >= this.text.length) this.hasReachedEnd = true;
    return !Number.isNaN(code) && KINDS[kind].test(this.text.charAt(at));
  }

  /** Where the run of a kind ends that begins at a place, or goes on there. */
  runEnd(kind: CharacterKind, at: number): number {
    return this.#runAt(kind, at).end;
  }

  /** Whether there is a digit between a place and the end of the run there. */
  hasDigit(kind: CharacterKind, at: number): boolean {
    return this.#runAt(kind, at).lastDigit >= at;
  }

  /**
   * Where a word continues that a row was too short for: after blanks and frames, one end of a row, and blanks and
   * frames again; undefined where no row ends. JSON may spell the end of a row, as `\\n`, also JSON within JSON.
   */
  nextRow(at: number): number | undefined {
    const end = this.runEnd("blank", at);
    const lineFeed = this.#behind("\r", "r", end) ?? end;
    const row = this.#behind("\n", "n", lineFeed);
    return row === undefined ? undefined : this.runEnd("blank", row);
  }

  /** The place after a character, or after backslashes and the letter by which JSON spells the character. */
  #behind(character: string, letter: string, at: number): number | undefined {
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
 * The rows of tokens that are too long for one: a token goes on in the next row where that begins with 16 or more of
 * its characters, a digit among them.
 */
export class WrappedTokens {
  readonly #reader: TextReader;
  #from = -1;
  #to = -1;

  constructor(reader: TextReader) {
    this.#reader = reader;
  }

  /** Where a token ends that has come as far as a place. */
  endOfWrapped(place: number): number {
    // A place in the rows that were walked over last is the end of one of them, or stands in the middle of it.
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

/** A part of a text. */
export interface TextSpan {
  readonly start: number;
  readonly end: number;
}

/** Parts of a text that are to be taken out of it. */
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

  /** Notes that what begins at a place may be, or go on as, a secret: the text has ended too early to tell. */
  leaveOpen(start: number): void {
    this.#openFrom = Math.min(this.#openFrom, start);
  }

  /** The first place that was left open; `Infinity` where none was. */
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

/** Private keys, from their first line to their last; without a last one as far as there are lines of a key. */
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
    this.#open = this.#open.filter((begun) => begun.end > start);
  }

  finish(): void {
    for (const { start, end } of this.#open) {
      this.#cuts.add(start, this.#linesEnd(end));
      this.#cuts.leaveOpen(start);
    }
  }

  /** Where a line ends that has come as far as `BEGIN `, if it is a private key's. */
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
