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
const KEPT_RUNS = 4;

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
    this.#runs.set(kind, [run, ...runs.slice(0, KEPT_RUNS - 1)]);
    return run;
  }
}
