import {
  type CharacterKind,
  Cuts,
  PrivateKeys,
  TextReader,
  type TextSpan,
  WrappedTokens,
} from "./text_reader.ts";
import { WordAutomaton } from "./word_automaton.ts";

/** A character sequence that reveals a secret, and a function that finds the secret from there. */
interface Mark {
  readonly mark: string;
  /** True if upper and lower case are equal. */
  readonly anyCase?: true;
  /** True if the mark only counts at the beginning of a word. */
  readonly atWordStart: boolean;
  readonly find: (at: MarkPlace) => void;
}

/** The position of a mark in a text. */
interface MarkPlace {
  readonly reader: TextReader;
  readonly cuts: Cuts;
  readonly rows: WrappedTokens;
  readonly keys: PrivateKeys;
  readonly start: number;
  readonly end: number;
}

/** A token: the mark, followed by a minimum number of characters of one kind. It may continue in the next rows. */
function tokenMark(
  mark: string,
  { kind, least }: { readonly kind: CharacterKind; readonly least: number },
): Mark {
  return {
    mark,
    atWordStart: true,
    find: ({ reader, cuts, rows, start, end }) => {
      const tokenEnd = reader.runEnd(kind, end);
      if (tokenEnd - end >= least) cuts.add(start, rows.endOfWrapped(tokenEnd));
    },
  };
}

/** A JSON field whose name shows that its text is a secret. */
function fieldMark(name: string): Mark {
  return {
    mark: `${name}"`,
    anyCase: true,
    atWordStart: false,
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

/** Returns where the value after a name begins, as in `name: "value` and `name=value`; undefined if there is none. */
function valueStart(reader: TextReader, nameEnd: number): number | undefined {
  const quoted = /["']/u.test(reader.text[nameEnd] ?? "") ? nameEnd + 1 : nameEnd;
  const sign = reader.runEnd("space", quoted);
  if (!/[:=]/u.test(reader.text[sign] ?? "")) return undefined;
  const value = reader.runEnd("space", sign + 1);
  return /["']/u.test(reader.text[value] ?? "") ? value + 1 : value;
}

/** Cuts a run of characters out if it is long enough. */
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

/** An access key of AWS: exactly 16 characters after the mark. */
function awsKeyMark(mark: string): Mark {
  return {
    mark,
    atWordStart: true,
    find: ({ reader, cuts, start, end }) => {
      const keyEnd = end + 16;
      if (reader.runEnd("word", end) < keyEnd) return;
      if (!/^[A-Z0-9]{16}$/u.test(reader.text.slice(end, keyEnd))) return;
      if (!reader.is("word", keyEnd) || cuts.beginsAt(keyEnd)) cuts.add(start, keyEnd);
    },
  };
}

/**
 * Secrets that are recognised by their shape: tokens of Anthropic, GitHub, GitLab, Slack, npm, Stripe, Google and
 * AWS, JSON Web Tokens, headers, JSON fields, passwords in URLs, and private keys.
 */
const MARKS: readonly Mark[] = [
  tokenMark("sk-ant-", { kind: "token", least: 8 }),
  ...[..."pousr"].map((kind) => tokenMark(`gh${kind}_`, { kind: "word", least: 20 })),
  tokenMark("github_pat_", { kind: "word", least: 20 }),
  tokenMark("glpat-", { kind: "token", least: 16 }),
  ...[..."abeoprs"].map((kind) => tokenMark(`xox${kind}-`, { kind: "token", least: 10 })),
  tokenMark("npm_", { kind: "word", least: 30 }),
  tokenMark("rk_live_", { kind: "word", least: 16 }),
  tokenMark("sk_live_", { kind: "word", least: 16 }),
  tokenMark("AIza", { kind: "token", least: 30 }),
  {
    mark: "eyJ",
    atWordStart: true,
    find: ({ reader, cuts, rows, start, end }) => {
      const header = reader.runEnd("token", end);
      if (header - end < 8 || reader.text[header] !== ".") return;
      const payload = reader.runEnd("token", header + 1);
      if (payload - header <= 8 || reader.text[payload] !== ".") return;
      const signature = reader.runEnd("token", payload + 1);
      if (signature - payload > 8) cuts.add(start, rows.endOfWrapped(signature));
    },
  },
  awsKeyMark("AKIA"),
  awsKeyMark("ASIA"),
  {
    mark: "aws_secret_access_key",
    anyCase: true,
    atWordStart: true,
    find: (at) => cutRun(at, { kind: "base64", from: valueStart(at.reader, at.end), least: 40 }),
  },
  {
    mark: "x-api-key",
    anyCase: true,
    atWordStart: true,
    find: (at) => cutRun(at, { kind: "value", from: valueStart(at.reader, at.end), least: 8 }),
  },
  {
    mark: "authorization",
    anyCase: true,
    atWordStart: true,
    find: (at) => {
      const scheme = valueStart(at.reader, at.end);
      if (scheme === undefined) return;
      const [name] = /^(?:bearer|basic|token)/iu.exec(at.reader.text.slice(scheme, scheme + 6)) ??
        [];
      if (name === undefined) return;
      const from = at.reader.runEnd("space", scheme + name.length);
      if (from > scheme + name.length) cutRun(at, { kind: "value", from, least: 1 });
    },
  },
  {
    // In prose, the word after "bearer" is shorter than 16 characters or has no digit.
    mark: "bearer",
    anyCase: true,
    atWordStart: true,
    find: ({ reader, cuts, end }) => {
      const from = reader.runEnd("space", end);
      const tokenEnd = reader.runEnd("bearer", from);
      if (from === end || tokenEnd - from < 16 || !reader.hasDigit("bearer", from)) return;
      cuts.add(from, reader.runEnd("equals", tokenEnd));
    },
  },
  ...["apikey", "api_key", "token", "secret", "password"].map(fieldMark),
  {
    mark: "://",
    atWordStart: false,
    find: ({ reader, cuts, start, end }) => {
      const user = reader.runEnd("address", end);
      if (!/[\w+.-]/u.test(reader.text[start - 1] ?? "") || reader.text[user] !== ":") return;
      const password = reader.runEnd("address", user + 1);
      if (password > user + 1 && reader.text[password] === "@") cuts.add(user + 1, password);
    },
  },
  { mark: "-----BEGIN ", atWordStart: false, find: (at) => at.keys.begin(at) },
  { mark: "-----END ", atWordStart: false, find: (at) => at.keys.end(at) },
];

/** The secrets in a text. */
interface FoundSecrets {
  /** The secrets in order, without overlaps. */
  readonly spans: readonly TextSpan[];
  /**
   * The first position of a possible secret whose end the text does not show: more text may make it a secret, or a
   * longer one. `Infinity` if there is none. Known secrets and marks count from their fourth character on.
   */
  readonly openFrom: number;
  /** The number of examined characters. It grows linearly with the text; tests check this. */
  readonly steps: number;
}

/**
 * Creates a function that finds secrets in a text: known ones, and those that a mark reveals.
 *
 * The text is read once from left to right. At each mark, such as `sk-ant-`, the reader looks at the runs of
 * characters around it. Regular expressions over the whole text would take quadratic time on hostile input.
 *
 * Screens wrap lines, so a known secret or a token is also found when it continues in the next row. Characters that
 * follow a secret directly are read as if the secret were absent.
 *
 * @param known secrets of 8 characters or more
 */
export function createSecretFinder(known: readonly string[]): (text: string) => FoundSecrets {
  const searches = knownSearches(known);
  return memoizeLast((text) => {
    const reader = new TextReader(text);
    const cuts = new Cuts();
    for (const search of searches) search(reader, cuts);
    findMarked(reader, cuts);
    return { spans: cuts.merged(), openFrom: cuts.openFrom, steps: reader.steps };
  });
}

const AUTOMATON = new WordAutomaton(MARKS.map(({ mark }) => mark.toLowerCase()));

/** Finds the secrets that a mark reveals, and adds them to the cuts. */
function findMarked(reader: TextReader, cuts: Cuts): void {
  const { text } = reader;
  const rows = new WrappedTokens(reader);
  const keys = new PrivateKeys(reader, cuts);
  AUTOMATON.steps = 0;
  let state = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    state = AUTOMATON.next(state, unit >= 0x41 && unit <= 0x5a ? unit + 0x20 : unit);
    if (state === 0) continue;
    const found = AUTOMATON.wordAt(state);
    if (found < 0) continue;
    const { mark, anyCase, atWordStart: begins, find } = MARKS[found] as Mark;
    const end = at + 1;
    const start = end - mark.length;
    if (anyCase === undefined && !text.startsWith(mark, start)) continue;
    if (begins && reader.is("word", start - 1) && !cuts.endsAt(start)) continue;
    reader.hasReachedEnd = false;
    find({ reader, cuts, rows, keys, start, end });
    if (reader.hasReachedEnd) cuts.leaveOpen(start);
  }
  const depth = AUTOMATON.depthOf(state);
  if (depth >= SHORTEST_PREFIX) cuts.leaveOpen(text.length - depth);
  keys.finish();
  reader.steps += AUTOMATON.steps;
}

/** Finds known secrets and adds them to the cuts. */
type Search = (reader: TextReader, cuts: Cuts) => void;

/** Characters that a screen puts between parts of a text, and the backslash of a line end in JSON. */
const LAYOUT = /[\s│|\\]/u;

/** A secret with fewer visible characters could be an ordinary word. */
const SHORTEST_VISIBLE = 8;

/**
 * Creates the searches for known secrets. A screen may wrap a secret at one of its blanks and not draw that blank. Such
 * a secret is searched for unchanged, and by its visible characters if there are enough.
 */
function knownSearches(known: readonly string[]): readonly Search[] {
  const withoutBlanks = known.filter((secret) => !LAYOUT.test(secret));
  const withBlanks = known.filter((secret) => LAYOUT.test(secret));
  const visible = withBlanks.map((secret) => secret.replace(/[\s│|]+/gu, ""))
    .filter(({ length }) => length >= SHORTEST_VISIBLE);
  return [
    wordSearch(withoutBlanks, {
      skip: (reader, at) => reader.is("layout", at) ? reader.nextRow(at) : undefined,
    }),
    wordSearch(withBlanks, { skip: () => undefined }),
    wordSearch(visible, { skip: (reader, at) => reader.is("gap", at) ? at + 1 : undefined }),
  ].filter((search) => search !== undefined);
}

/** The minimum length of a prefix. A shorter prefix reveals nothing about a secret. */
const SHORTEST_PREFIX = 4;

/** @param options.skip returns where to continue if the character at a position is layout */
function wordSearch(
  words: readonly string[],
  { skip }: { readonly skip: (reader: TextReader, at: number) => number | undefined },
): Search | undefined {
  if (words.length === 0) return undefined;
  const automaton = new WordAutomaton(words);
  // A ring of the positions of the last matched characters. It leads from the end of a word back to its start.
  const places = new Int32Array(words.reduce((most, { length }) => Math.max(most, length), 0));
  return (reader, cuts) => {
    automaton.steps = 0;
    let state = 0;
    let count = 0;
    const leaveOpen = () => {
      const depth = automaton.depthOf(state);
      if (depth < SHORTEST_PREFIX) return;
      cuts.leaveOpen(places[(count - depth) % places.length] as number);
    };
    for (let at = 0; at < reader.text.length;) {
      // Layout is only skipped inside a word.
      if (state !== 0) {
        reader.hasReachedEnd = false;
        const next = skip(reader, at);
        if (next !== undefined) {
          at = next;
          continue;
        }
        // The text ends within a possible line end, so the word may continue.
        if (reader.hasReachedEnd) leaveOpen();
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
    leaveOpen();
    reader.steps += automaton.steps;
  };
}

/** The cache has two entries, because a text is inspected as it was written and as it is drawn. */
const MAX_ENTRIES = 2;
/** The maximum length of a remembered text, in UTF-16 units. */
const MAX_CACHED_LENGTH = 1024 * 1024;

/**
 * Remembers the results for the last two texts. A stream redactor asks for the secrets of a text, and then for the open
 * end of the same text.
 */
export function memoizeLast<Answer>(answer: (text: string) => Answer): (text: string) => Answer {
  let recent: readonly { readonly text: string; readonly answer: Answer }[] = [];
  return (text) => {
    const last = recent.find((one) => one.text === text);
    if (last !== undefined) return last.answer;
    const computed = answer(text);
    if (text.length <= MAX_CACHED_LENGTH) {
      recent = [{ text, answer: computed }, ...recent.slice(0, MAX_ENTRIES - 1)];
    }
    return computed;
  };
}
