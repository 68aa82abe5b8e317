import type { Cuts } from "./cuts.ts";
import type { PrivateKeys } from "./private_keys.ts";
import type { CharacterKind, TextReader } from "./text_reader.ts";
import type { TokenRows } from "./token_rows.ts";

/** What gives a secret away, and how the secret is found from there. */
export interface Mark {
  /** The characters it is known by. */
  readonly mark: string;
  /** Whether its letters may be of either case. */
  readonly anyCase?: true;
  /** Whether it has to be the beginning of a word. */
  readonly begins: boolean;
  readonly find: (at: MarkPlace) => void;
}

/** A mark in a text: from `start` to `end`. */
export interface MarkPlace {
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
      if (reader.runEnd("word", end) < keyEnd) return;
      if (!/^[A-Z0-9]{16}$/u.test(reader.text.slice(end, keyEnd))) return;
      if (!reader.is("word", keyEnd) || cuts.beginsAt(keyEnd)) cuts.add(start, keyEnd);
    },
  };
}

/**
 * Secrets that give themselves away: Anthropic, GitHub, GitLab, Slack, npm, Stripe, Google and AWS tokens, JSON Web
 * Tokens, headers, fields of JSON, passwords in URLs, private keys.
 */
export const MARKS: readonly Mark[] = [
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
    // The word after "bearer" in prose is shorter than 16 characters, or has no digit.
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
