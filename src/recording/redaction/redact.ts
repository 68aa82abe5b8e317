import { isJsonObject, type JsonObject } from "../../json_object.ts";
import { REDACTED } from "./redact_pieces.ts";
import { Buffer } from "node:buffer";
import { createSecretFinder } from "./find_secrets.ts";

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
  // What has been taken out before is neither part of a secret nor of its name.
  const text = (whole: string) => whole.split(REDACTED).map(redactPart).join(REDACTED);
  return {
    text,
    openFrom: (whole) => {
      const part = whole.slice(startOfLastPart(whole));
      return whole.length - part.length + find(part).openFrom;
    },
    commandLine: (args) => args.map((arg) => text(hideJsonValues(arg))).join(" "),
  };
}

/** Where a text goes on behind what has been taken out of it last. */
function startOfLastPart(whole: string): number {
  const last = whole.lastIndexOf(REDACTED);
  return last === -1 ? 0 : last + REDACTED.length;
}

/** The strings whose name says that they are secrets. */
function secretValues(variables: JsonObject): readonly string[] {
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
      if (!Array.isArray(item) && isVariables(key, held)) variables.push(held);
      else left.push(held);
    }
  }
  return variables;
}

function isVariables(key: string, value: unknown): value is JsonObject {
  return (key === "env" || key === "headers") && isJsonObject(value);
}

/** The values of `Name: value` lines. */
function headerValues(lines: string): readonly string[] {
  return lines.split("\n").map((line) => line.slice(line.indexOf(":") + 1).trim());
}

/** An argument whose JSON text says no more than the names of variables and headers. */
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

/** Characters that encoders of URLs leave as they are: by RFC 3986, of forms, of JavaScript, and the latter of whole URLs. */
const URL_SAFE = [
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
