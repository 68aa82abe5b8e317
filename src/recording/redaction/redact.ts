import { isJsonObject, type JsonObject } from "../../json_object.ts";
import { REDACTED } from "./redact_pieces.ts";
import { Buffer } from "node:buffer";
import { Cuts, type TextSpan } from "./cuts.ts";
import { lastAnswers } from "./last_answers.ts";
import { TextReader } from "./text_reader.ts";
import { type Mark, MARKS } from "./marks.ts";
import { PrivateKeys } from "./private_keys.ts";
import { TokenRows } from "./token_rows.ts";
import { WordAutomaton } from "./word_automaton.ts";

/** Names of variables and of JSON fields that say their value is a secret. */
const SECRET_NAME = /KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTHORIZATION|COOKIE/iu;
/** A shorter value is too likely a word of its own. */
const SHORTEST_SECRET = 8;

/** Arguments whose value may be JSON text with secrets in it. */
const JSON_ARGUMENT = /^(--(?:settings|mcp-config|agents)=)(\s*[{[].*)$/su;

/** Takes secrets out of texts that are shown or kept. */
export interface Redactor {
  /** The text without secrets; each leaves the word `[redacted]`. What is no secret stays as it is. */
  readonly text: (text: string) => string;
  /**
   * Where something begins that may be a secret with what follows the text; `Infinity` where there is none. A secret of
   * which less has come than gives it away is not waited for.
   */
  readonly openFrom: (text: string) => number;
  /** A command line without secrets, nor the values of `env` and `headers` in JSON given as an argument. */
  readonly commandLine: (args: readonly string[]) => string;
}

/**
 * Knows the secrets of an environment and of a command line, and those that can be told by their shape:
 * Claude, GitHub, AWS and other tokens, JSON Web Tokens, private keys, authorization headers, passwords in URLs.
 *
 * A known secret is found in base64, URLs and hexadecimal digits, too, and any secret across the end of a row, since
 * screens wrap.
 *
 * @param options.env variables whose name says KEY, TOKEN, SECRET, PASSWORD or CREDENTIAL hold secrets, if they are
 *   at least 8 characters long
 * @param options.args arguments whose JSON may hold variables and headers of that kind
 */
export function createRedactor(options: {
  readonly env: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
}): Redactor {
  const json = (options.args ?? []).map((arg) => parseJson(JSON_ARGUMENT.exec(arg)?.[2]));
  const values = [options.env, ...json.flatMap(variablesIn)].flatMap(namedValues)
    .concat(headerValues(options.env["ANTHROPIC_CUSTOM_HEADERS"] ?? ""))
    .filter((value) => value.length >= SHORTEST_SECRET && !REDACTED.includes(value));
  const find = createSecretFinder([...new Set(values.flatMap((value) => [...spellings(value)]))]);
  const redactPart = (part: string): string => {
    let kept = "";
    let from = 0;
    for (const { start, end } of find(part).spans) {
      kept += part.slice(from, start) + REDACTED;
      from = end;
    }
    return kept + part.slice(from);
  };
  // What has been taken out before is neither part of a secret nor of its name.
  const text = (whole: string) => whole.split(REDACTED).map(redactPart).join(REDACTED);
  return {
    text,
    openFrom: (whole) => {
      const part = whole.slice(startOfLastPart(whole));
      return whole.length - part.length + find(part).openFrom;
    },
    commandLine: (args) => args.map((arg) => text(withoutJsonValues(arg))).join(" "),
  };
}

/** Where a text goes on behind what has been taken out of it last. */
function startOfLastPart(whole: string): number {
  const last = whole.lastIndexOf(REDACTED);
  return last === -1 ? 0 : last + REDACTED.length;
}

/** The strings whose name says that they are secrets. */
function namedValues(variables: JsonObject): readonly string[] {
  return Object.entries(variables).flatMap(([name, value]) =>
    typeof value === "string" && SECRET_NAME.test(name) ? [value] : []
  );
}

/** The objects of variables and of headers anywhere in a JSON value, however deep: a project may have written it. */
function variablesIn(value: unknown): readonly JsonObject[] {
  const variables: JsonObject[] = [];
  const left = [value];
  while (left.length > 0) {
    const item = left.pop();
    if (typeof item !== "object" || item === null) continue;
    for (const [key, held] of Object.entries(item)) {
      if (!Array.isArray(item) && holdsVariables(key, held)) variables.push(held);
      else left.push(held);
    }
  }
  return variables;
}

function holdsVariables(key: string, value: unknown): value is JsonObject {
  return (key === "env" || key === "headers") && isJsonObject(value);
}

/** The values of `Name: value` lines. */
function headerValues(lines: string): readonly string[] {
  return lines.split("\n").map((line) => line.slice(line.indexOf(":") + 1).trim());
}

/** An argument whose JSON text says no more than the names of variables and headers. */
function withoutJsonValues(argument: string): string {
  const [, flag, json] = JSON_ARGUMENT.exec(argument) ?? [];
  const value = parseJson(json);
  return value === undefined ? argument : `${flag}${JSON.stringify(withoutValues(value))}`;
}

function withoutValues(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutValues);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      holdsVariables(key, item)
        ? Object.fromEntries(Object.keys(item).map((name) => [name, REDACTED]))
        : withoutValues(item),
    ]),
  );
}

function parseJson(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Characters that encoders of URLs leave as they are: by RFC 3986, of forms, of JavaScript, and the latter of whole URLs. */
const LEFT_IN_URLS = [
  ...[/[\w.~-]/u, /[\w.~/-]/u],
  /[\w.*-]/u,
  ...[/[\w.~!'()*-]/u, /[\w.~!'()*/-]/u],
  /[\w.~!'()*;,/?:@&=+$#-]/u,
];

/**
 * All spellings in which a secret is looked for: as it is, in JSON, in URLs, in hexadecimal digits, and in base64. What
 * base64 makes of a secret follows from its place among other bytes, as in `user:secret`: each of the three spellings
 * has the characters that hold nothing but bits of the secret.
 */
function spellings(secret: string): ReadonlySet<string> {
  const bytes = Buffer.from(secret);
  const hex = bytes.toString("hex");
  const base64 = [0, 1, 2].map((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64");
    return encoded.slice(Math.ceil(before * 8 / 6), Math.floor((before + bytes.length) * 8 / 6));
  });
  const inUrls = LEFT_IN_URLS.flatMap((left) => {
    const lower = Array.from(bytes, (byte) => {
      const character = String.fromCharCode(byte);
      return left.test(character) ? character : `%${byte.toString(16).padStart(2, "0")}`;
    }).join("");
    const upper = lower.replace(/%../gu, (escape) => escape.toUpperCase());
    return [lower, upper].flatMap((text) => [text, text.replaceAll("%20", "+")]);
  });
  return new Set([
    secret,
    JSON.stringify(secret).slice(1, -1),
    ...[hex, hex.toUpperCase()],
    ...base64.flatMap((text) => [text, text.replaceAll("+", "-").replaceAll("/", "_")]),
    ...inUrls,
  ]);
}

/** The secrets in a text. */
interface FoundSecrets {
  /** In order; none overlaps another. */
  readonly spans: readonly TextSpan[];
  /**
   * Where something begins of which only what follows the text can tell whether it is a secret, and how far it goes;
   * `Infinity` where there is none. The first few characters of a secret are not taken for its beginning.
   */
  readonly openFrom: number;
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
  return lastAnswers((text) => {
    const reader = new TextReader(text);
    const cuts = new Cuts();
    for (const search of searches) search(reader, cuts);
    findMarked(reader, cuts);
    return { spans: cuts.merged(), openFrom: cuts.openFrom, steps: reader.steps };
  });
}

const AUTOMATON = new WordAutomaton(MARKS.map(({ mark }) => mark.toLowerCase()));

/** Finds the secrets that give themselves away by a mark, and adds them to the cuts. */
function findMarked(reader: TextReader, cuts: Cuts): void {
  const { text } = reader;
  const rows = new TokenRows(reader);
  const keys = new PrivateKeys(reader, cuts);
  AUTOMATON.steps = 0;
  let state = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    state = AUTOMATON.next(state, unit >= 0x41 && unit <= 0x5a ? unit + 0x20 : unit);
    if (state === 0) continue;
    const found = AUTOMATON.wordAt(state);
    if (found < 0) continue;
    const { mark, anyCase, begins, find } = MARKS[found] as Mark;
    const end = at + 1;
    const start = end - mark.length;
    if (anyCase === undefined && !text.startsWith(mark, start)) continue;
    if (begins && reader.is("word", start - 1) && !cuts.endsAt(start)) continue;
    reader.hasReachedEnd = false;
    find({ reader, cuts, rows, keys, start, end });
    if (reader.hasReachedEnd) cuts.leaveOpen(start);
  }
  const begun = AUTOMATON.depthOf(state);
  if (begun >= SHORTEST_BEGINNING) cuts.leaveOpen(text.length - begun);
  keys.finish();
  reader.steps += AUTOMATON.steps;
}

/** Looks for some secrets in a text and adds those it finds to the cuts. */
type Search = (reader: TextReader, cuts: Cuts) => void;

/** What a screen puts between the parts of a text, and how JSON spells the ends of rows. */
const LAYOUT = /[\s│|\\]/u;

/** Fewer visible characters are too likely a word of their own. */
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
      skip: (reader, at) => reader.is("layout", at) ? reader.nextRow(at) : undefined,
    }),
    wordSearch(laidOut, { skip: () => undefined }),
    wordSearch(ink, { skip: (reader, at) => reader.is("gap", at) ? at + 1 : undefined }),
  ].filter((search) => search !== undefined);
}

/** A shorter beginning of a secret gives nothing of it away. */
const SHORTEST_BEGINNING = 4;

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
    const leaveOpen = () => {
      const depth = automaton.depthOf(state);
      if (depth < SHORTEST_BEGINNING) return;
      cuts.leaveOpen(places[(count - depth) % places.length] as number);
    };
    for (let at = 0; at < reader.text.length;) {
      // Outside of a word the text is skipped up to the next unit that one of them begins with.
      if (state !== 0) {
        reader.hasReachedEnd = false;
        const next = skip(reader, at);
        if (next !== undefined) {
          at = next;
          continue;
        }
        // What follows may be the rest of the row's end.
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
