import { isJsonObject, type JsonObject } from "../../json_object.ts";
import { REDACTED } from "./redact_pieces.ts";
import { Buffer } from "node:buffer";
import { createSecretFinder } from "./find_secrets.ts";

/** Names of variables and JSON fields whose value is a secret. */
const SECRET_NAME = /KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTHORIZATION|COOKIE/iu;
/** The minimum length of a secret. A shorter value could be an ordinary word. */
const SHORTEST_SECRET = 8;

/** Arguments whose JSON value may contain secrets. */
const JSON_ARGUMENT = /^(--(?:settings|mcp-config|agents)=)(\s*[{[].*)$/su;

/** Removes secrets from texts that are shown or stored. */
export interface Redactor {
  /** Replaces each secret by `[redacted]`. All other text is kept. */
  readonly text: (text: string) => string;
  /**
   * Returns the first position of a possible secret that following text may complete or extend; `Infinity` if there is
   * none. The first characters of a secret, which reveal nothing, do not count.
   */
  readonly openFrom: (text: string) => number;
  /** Returns a command line without secrets. In JSON arguments, it also replaces the values of `env` and `headers`. */
  readonly commandLine: (args: readonly string[]) => string;
}

/**
 * Creates a redactor that knows the secrets of an environment and a command line, and recognises others by their shape:
 * tokens of Claude, GitHub, AWS and others, JSON Web Tokens, private keys, authorization headers, passwords in URLs.
 *
 * A known secret is also found in base64, URL and hexadecimal encoding. Screens wrap lines, so any secret is also found
 * across the end of a row.
 *
 * @param options.env variables are secrets if their name contains KEY, TOKEN, SECRET, PASSWORD or a similar word and
 * their value has 8 characters or more
 * @param options.args arguments whose JSON may contain such variables and headers
 */
export function createRedactor(options: {
  readonly env: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
}): Redactor {
  const json = (options.args ?? []).map((arg) => parseJson(JSON_ARGUMENT.exec(arg)?.[2]));
  const values = [options.env, ...json.flatMap(variablesIn)].flatMap(secretValues)
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
  // Text that is already redacted is neither part of a secret nor of its name.
  const text = (text: string) => text.split(REDACTED).map(redactPart).join(REDACTED);
  return {
    text,
    openFrom: (text) => {
      const part = text.slice(startOfLastPart(text));
      return text.length - part.length + find(part).openFrom;
    },
    commandLine: (args) => args.map((arg) => text(hideJsonValues(arg))).join(" "),
  };
}

/** Returns where the text after the last `[redacted]` begins. */
function startOfLastPart(text: string): number {
  const last = text.lastIndexOf(REDACTED);
  return last === -1 ? 0 : last + REDACTED.length;
}

/** Returns the strings whose name shows that they are secrets. */
function secretValues(variables: JsonObject): readonly string[] {
  return Object.entries(variables).flatMap(([name, value]) =>
    typeof value === "string" && SECRET_NAME.test(name) ? [value] : []
  );
}

/**
 * Returns the `env` and `headers` objects at any depth. A loop instead of a recursion, because a project may nest its
 * JSON deeply.
 */
function variablesIn(value: unknown): readonly JsonObject[] {
  const variables: JsonObject[] = [];
  const left = [value];
  while (left.length > 0) {
    const item = left.pop();
    if (typeof item !== "object" || item === null) continue;
    for (const [key, field] of Object.entries(item)) {
      if (!Array.isArray(item) && isVariables(key, field)) variables.push(field);
      else left.push(field);
    }
  }
  return variables;
}

function isVariables(key: string, value: unknown): value is JsonObject {
  return (key === "env" || key === "headers") && isJsonObject(value);
}

/** Returns the values of `Name: value` lines. */
function headerValues(lines: string): readonly string[] {
  return lines.split("\n").map((line) => line.slice(line.indexOf(":") + 1).trim());
}

/** Replaces the values of variables and headers in a JSON argument. */
function hideJsonValues(argument: string): string {
  const [, flag, json] = JSON_ARGUMENT.exec(argument) ?? [];
  const value = parseJson(json);
  return value === undefined ? argument : `${flag}${JSON.stringify(hideValues(value))}`;
}

function hideValues(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(hideValues);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      isVariables(key, item)
        ? Object.fromEntries(Object.keys(item).map((name) => [name, REDACTED]))
        : hideValues(item),
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

/** Characters that URL encoders do not escape: RFC 3986, HTML forms, `encodeURIComponent` and `encodeURI`. */
const URL_SAFE = [
  ...[/[\w.~-]/u, /[\w.~/-]/u],
  /[\w.*-]/u,
  ...[/[\w.~!'()*-]/u, /[\w.~!'()*/-]/u],
  /[\w.~!'()*;,/?:@&=+$#-]/u,
];

/**
 * Returns all spellings of a secret: plain, in JSON, in URLs, in hexadecimal digits and in base64.
 *
 * The base64 of a secret depends on the number of bytes before it, as in `user:secret`. There are three alignments.
 * Each spelling keeps only the characters that encode nothing but bits of the secret.
 */
function spellings(secret: string): ReadonlySet<string> {
  const bytes = Buffer.from(secret);
  const hex = bytes.toString("hex");
  const base64 = [0, 1, 2].map((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64");
    return encoded.slice(Math.ceil(before * 8 / 6), Math.floor((before + bytes.length) * 8 / 6));
  });
  const inUrls = URL_SAFE.flatMap((left) => {
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
