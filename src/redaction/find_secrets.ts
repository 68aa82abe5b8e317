import { type CharacterKind, TextReader } from "./text_reader.ts";
import { WordAutomaton } from "./word_automaton.ts";

/** A part of a text. */
export interface TextSpan {
  readonly start: number;
  readonly end: number;
}

/** The secrets in a text. */
export interface FoundSecrets {
  /** In order; none overlaps another. */
  readonly spans: readonly TextSpan[];
  /** How much was looked at to find them, in characters: in proportion to the text, whatever it holds. */
  readonly steps: number;
}

/**
 * Creates what finds secrets in a text: those that are known, and those that give themselves away by their shape.
 *
 * The text is read from left to right: a mark, such as `sk-ant-`, is found on the way, and around it runs of characters
 * are looked at. No expression searches it that begins anew at every character, as quadratic time begins.
 *
 * A known secret, or a token at the end of a row, is found although it goes on in the next, since screens wrap. What
 * stands right behind a secret is seen as if the secret were not there.
 *
 * @param known secrets, 8 characters or longer
 */
export function createSecretFinder(known: readonly string[]): (text: string) => FoundSecrets {
  const searches = knownSearches(known);
  return (text) => {
    const reader = new TextReader(text);
    const cuts = new Cuts();
    for (const search of searches) search(reader, cuts);
    findMarked(reader, cuts);
    return { spans: cuts.merged(), steps: reader.steps };
  };
}

/** Parts of a text that are to be taken out of it. */
class Cuts {
  readonly #spans: TextSpan[] = [];
  readonly #starts = new Set<number>();
  readonly #ends = new Set<number>();

  add(start: number, end: number): void {
    this.#spans.push({ start, end });
    this.#starts.add(start);
    this.#ends.add(end);
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

type Search = (reader: TextReader, cuts: Cuts) => void;

const LAYOUT = /[\s│|]/u;
const SHORTEST_INK = 8;

/**
 * Searches for known secrets. One that holds blanks itself may be wrapped at one of them, which is then not drawn: it
 * is looked for as it stands, and by its visible characters alone if these are enough.
 */
function knownSearches(known: readonly string[]): readonly Search[] {
  const solid = known.filter((secret) => !LAYOUT.test(secret));
  const laidOut = known.filter((secret) => LAYOUT.test(secret));
  const ink = laidOut.map((secret) => secret.replace(/[\s│|]+/gu, ""))
    .filter(({ length }) => length >= SHORTEST_INK);
  return [
    wordSearch(solid, {
      skip: (reader, at) => reader.is("gap", at) ? reader.nextRow(at) : undefined,
    }),
    wordSearch(laidOut, { skip: () => undefined }),
    wordSearch(ink, { skip: (reader, at) => reader.is("gap", at) ? at + 1 : undefined }),
  ].filter((search) => search !== undefined);
}

/** @param options.skip where to go on if what stands at a place is not looked at */
function wordSearch(
  words: readonly string[],
  { skip }: { readonly skip: (reader: TextReader, at: number) => number | undefined },
): Search | undefined {
  if (words.length === 0) return undefined;
  const automaton = new WordAutomaton(words);
  // Where the units that may belong to a word were found.
  const places = new Int32Array(words.reduce((most, { length }) => Math.max(most, length), 0));
  return (reader, cuts) => {
    automaton.steps = 0;
    let state = 0;
    let count = 0;
    for (let at = 0; at < reader.text.length;) {
      // Between words there is nothing that could go on.
      const next = state === 0 ? undefined : skip(reader, at);
      if (next !== undefined) {
        at = next;
        continue;
      }
      state = automaton.next(state, reader.text.charCodeAt(at));
      at++;
      if (state === 0) continue;
      places[count % places.length] = at - 1;
      count++;
      const found = automaton.wordAt(state);
      if (found < 0) continue;
      const { length } = words[found] as string;
      cuts.add(places[(count - length) % places.length] as number, at);
    }
    reader.steps += automaton.steps;
  };
}

/** What gives a secret away, and how the secret is found from there. */
interface Mark {
  /** The characters it is known by. */
  readonly mark: string;
  /** Whether its letters may be of either case. */
  readonly anyCase?: true;
  /** Whether it has to be the beginning of a word. */
  readonly begins: boolean;
  readonly find: (at: MarkPlace) => void;
}

/** A mark in a text: from `start` to `end`. */
interface MarkPlace {
  readonly reader: TextReader;
  readonly cuts: Cuts;
  readonly rows: TokenRows;
  readonly keys: PrivateKeys;
  readonly start: number;
  readonly end: number;
}

/** A mark and as many more characters of a kind, on one row or several. */
function token(
  mark: string,
  { kind, least }: { readonly kind: CharacterKind; readonly least: number },
): Mark {
  return {
    mark,
    begins: true,
    find: ({ reader, cuts, rows, start, end }) => {
      const tokenEnd = reader.runEnd(kind, end);
      if (tokenEnd - end >= least) cuts.add(start, rows.endBehind(tokenEnd));
    },
  };
}

/** The name of a JSON field that says its text is a secret. */
function field(name: string): Mark {
  return {
    mark: `${name}"`,
    anyCase: true,
    begins: false,
    find: ({ reader, cuts, start, end }) => {
      let before = start - 1;
      while (reader.is("word", before)) before--;
      const colon = reader.runEnd("space", end);
      const quote = reader.runEnd("space", colon + 1);
      if (reader.text[before] !== '"' || reader.text[colon] !== ":" || reader.text[quote] !== '"') {
        return;
      }
      const valueEnd = reader.runEnd("quoted", quote + 1);
      if (valueEnd - quote > 8 && reader.text[valueEnd] === '"') cuts.add(quote + 1, valueEnd);
    },
  };
}

/** Where the value begins behind a name that ends at a place, if one is set: `name: "value`, `name=value`. */
function valueOf(reader: TextReader, nameEnd: number): number | undefined {
  const quoted = /["']/u.test(reader.text[nameEnd] ?? "") ? nameEnd + 1 : nameEnd;
  const sign = reader.runEnd("space", quoted);
  if (!/[:=]/u.test(reader.text[sign] ?? "")) return undefined;
  const value = reader.runEnd("space", sign + 1);
  return /["']/u.test(reader.text[value] ?? "") ? value + 1 : value;
}

/** Cuts a run at a place if it is long enough. */
function cutRun(
  { reader, cuts }: MarkPlace,
  { kind, from, least }: {
    readonly kind: CharacterKind;
    readonly from: number | undefined;
    readonly least: number;
  },
): void {
  if (from === undefined) return;
  const end = reader.runEnd(kind, from);
  if (end - from >= least) cuts.add(from, end);
}

/** AWS: 16 characters and no more. */
function awsKey(mark: string): Mark {
  return {
    mark,
    begins: true,
    find: ({ reader, cuts, start, end }) => {
      const keyEnd = end + 16;
      if (!/^[A-Z0-9]{16}$/u.test(reader.text.slice(end, keyEnd))) return;
      if (!reader.is("word", keyEnd) || cuts.beginsAt(keyEnd)) cuts.add(start, keyEnd);
    },
  };
}

/**
 * Secrets that give themselves away: Anthropic, GitHub, GitLab, Slack, npm, Stripe, Google and AWS tokens, JSON Web
 * Tokens, headers, fields of JSON, passwords in URLs, private keys.
 */
const MARKS: readonly Mark[] = [
  token("sk-ant-", { kind: "token", least: 8 }),
  ...[..."pousr"].map((kind) => token(`gh${kind}_`, { kind: "word", least: 20 })),
  token("github_pat_", { kind: "word", least: 20 }),
  token("glpat-", { kind: "token", least: 16 }),
  ...[..."abeoprs"].map((kind) => token(`xox${kind}-`, { kind: "token", least: 10 })),
  token("npm_", { kind: "word", least: 30 }),
  token("rk_live_", { kind: "word", least: 16 }),
  token("sk_live_", { kind: "word", least: 16 }),
  token("AIza", { kind: "token", least: 30 }),
  {
    mark: "eyJ",
    begins: true,
    find: ({ reader, cuts, rows, start, end }) => {
      const header = reader.runEnd("token", end);
      if (header - end < 8 || reader.text[header] !== ".") return;
      const payload = reader.runEnd("token", header + 1);
      if (payload - header <= 8 || reader.text[payload] !== ".") return;
      const signature = reader.runEnd("token", payload + 1);
      if (signature - payload > 8) cuts.add(start, rows.endBehind(signature));
    },
  },
  awsKey("AKIA"),
  awsKey("ASIA"),
  {
    mark: "aws_secret_access_key",
    anyCase: true,
    begins: true,
    find: (at) => cutRun(at, { kind: "base64", from: valueOf(at.reader, at.end), least: 40 }),
  },
  {
    mark: "x-api-key",
    anyCase: true,
    begins: true,
    find: (at) => cutRun(at, { kind: "value", from: valueOf(at.reader, at.end), least: 8 }),
  },
  {
    mark: "authorization",
    anyCase: true,
    begins: true,
    find: (at) => {
      const scheme = valueOf(at.reader, at.end);
      if (scheme === undefined) return;
      const [name] = /^(?:bearer|basic|token)/iu.exec(at.reader.text.slice(scheme, scheme + 6)) ??
        [];
      if (name === undefined) return;
      const from = at.reader.runEnd("space", scheme + name.length);
      if (from > scheme + name.length) cutRun(at, { kind: "value", from, least: 1 });
    },
  },
  {
    // Prose bears no such words: 16 characters and a digit.
    mark: "bearer",
    anyCase: true,
    begins: true,
    find: ({ reader, cuts, end }) => {
      const from = reader.runEnd("space", end);
      const tokenEnd = reader.runEnd("bearer", from);
      if (from === end || tokenEnd - from < 16 || !reader.hasDigit("bearer", from)) return;
      cuts.add(from, reader.runEnd("equals", tokenEnd));
    },
  },
  ...["apikey", "api_key", "token", "secret", "password"].map(field),
  {
    mark: "://",
    begins: false,
    find: ({ reader, cuts, start, end }) => {
      const user = reader.runEnd("address", end);
      if (!/[\w+.-]/u.test(reader.text[start - 1] ?? "") || reader.text[user] !== ":") return;
      const password = reader.runEnd("address", user + 1);
      if (password > user + 1 && reader.text[password] === "@") cuts.add(user + 1, password);
    },
  },
  { mark: "-----BEGIN ", begins: false, find: (at) => at.keys.begin(at) },
  { mark: "-----END ", begins: false, find: (at) => at.keys.end(at) },
];

const AUTOMATON = new WordAutomaton(MARKS.map(({ mark }) => mark.toLowerCase()));

function findMarked(reader: TextReader, cuts: Cuts): void {
  const { text } = reader;
  const rows = new TokenRows(reader);
  const keys = new PrivateKeys(reader, cuts);
  AUTOMATON.steps = 0;
  let state = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    state = AUTOMATON.next(state, unit >= 0x41 && unit <= 0x5a ? unit + 0x20 : unit);
    const found = AUTOMATON.wordAt(state);
    if (found < 0) continue;
    const { mark, anyCase, begins, find } = MARKS[found] as Mark;
    const end = at + 1;
    const start = end - mark.length;
    if (anyCase === undefined && !text.startsWith(mark, start)) continue;
    if (begins && reader.is("word", start - 1) && !cuts.endsAt(start)) continue;
    find({ reader, cuts, rows, keys, start, end });
  }
  keys.finish();
  reader.steps += AUTOMATON.steps;
}

/**
 * The rows of tokens that are too long for one: a token goes on in the next row where that begins with 16 or more of
 * its characters, a digit among them.
 */
class TokenRows {
  readonly #reader: TextReader;
  #from = -1;
  #to = -1;

  constructor(reader: TextReader) {
    this.#reader = reader;
  }

  /** Where a token ends that has come as far as a place. */
  endBehind(place: number): number {
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

/** Private keys, from their first line to their last; without a last one as far as there are lines of a key. */
class PrivateKeys {
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
    for (const { start, end } of this.#open) this.#cuts.add(start, this.#linesEnd(end));
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
