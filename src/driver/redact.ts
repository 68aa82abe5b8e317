import { isJsonObject, type JsonObject } from "../sandbox/json_object.ts";

/** What stands where a secret stood. */
const REDACTED = "[redacted]";

/** Names of variables and of JSON fields that say their value is a secret. */
const SECRET_NAME = /KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTHORIZATION|COOKIE/iu;
/** A shorter value is too likely a word of its own. */
const SHORTEST_SECRET = 8;

/** What a terminal or a frame around a text puts between two parts of a word that is too long for a row. */
const WRAP = "[ \\t│|]*\\r?\\n[ \\t│|]*";

/**
 * Secrets that give themselves away. The first group of a pattern, if it has one, stays.
 *
 * A token at the end of a row goes on in the next where that begins with 16 or more of its characters, a digit
 * among them.
 */
const SHAPES: readonly RegExp[] = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----/gu,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----(?:(?:[\s│|]|\\n)*[\w+/=]{16,})*/gu,
  // Anthropic, GitHub, GitLab, Slack, npm, Stripe, Google, and JSON Web Tokens.
  token("sk-ant-[\\w-]{8,}"),
  token("gh[pousr]_\\w{20,}|github_pat_\\w{20,}"),
  token("glpat-[\\w-]{16,}|xox[abeoprs]-[\\w-]{10,}|npm_\\w{30,}|[rs]k_live_\\w{16,}"),
  token("AIza[\\w-]{30,}"),
  token("eyJ[\\w-]{8,}\\.[\\w-]{8,}\\.[\\w-]{8,}"),
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/gu,
  /(\baws_secret_access_key["']?\s*[:=]\s*["']?)[\w/+]{40}/giu,
  /(\b(?:proxy-)?authorization["']?\s*[:=]\s*["']?(?:bearer|basic|token)\s+)[\w.~+/=-]+/giu,
  /(\bx-api-key["']?\s*[:=]\s*["']?)[\w.~+/=-]{8,}/giu,
  // Prose bears no such words: 16 characters and a digit.
  /(\bbearer\s+)(?=[\w.~+/-]*\d)[\w.~+/-]{16,}=*/giu,
  /("\w*(?:api_?key|token|secret|password)"\s*:\s*")[^"\\]{8,}(?=")/giu,
  /(\b[a-z][\w+.-]*:\/\/[^\s/:@]*:)[^\s/:@]+(?=@)/giu,
];

/** Arguments whose value may be JSON text with secrets in it. */
const JSON_ARGUMENT = /^(--(?:settings|mcp-config|agents)=)(\s*[{[].*)$/su;

/** Takes secrets out of texts that are shown or kept. */
export interface Redactor {
  /** The text without secrets; each leaves the word `[redacted]`. What is no secret stays as it is. */
  readonly text: (text: string) => string;
  /** A command line without secrets, nor the values of `env` and `headers` in JSON given as an argument. */
  readonly commandLine: (args: readonly string[]) => string;
}

/**
 * Knows the secrets of an environment and of a command line, and those that can be told by their shape:
 * Claude, GitHub, AWS and other tokens, JSON Web Tokens, private keys, authorization headers, passwords in URLs.
 *
 * A secret is found across the end of a row too, since screens wrap.
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
  const spelled = new Set(values.flatMap((value) => [value, JSON.stringify(value).slice(1, -1)]));
  const literals = [...spelled].sort((a, b) => b.length - a.length).map(wrappable);
  const patterns = [...literals, ...SHAPES];
  const redactPiece = (piece: string) =>
    patterns.reduce(
      (text, pattern) =>
        text.replace(
          pattern,
          (_, kept) => `${typeof kept === "string" ? kept : ""}${REDACTED}`,
        ),
      piece,
    );
  const text = (whole: string): string => {
    // What is cut out can lay bare the beginning of the next secret.
    for (let before = whole;;) {
      const after = before.split(REDACTED).map(redactPiece).join(REDACTED);
      if (after === before) return after;
      before = after;
    }
  };
  return {
    text,
    commandLine: (args) => args.map((arg) => text(withoutJsonValues(arg))).join(" "),
  };
}

/** A pattern for a token of word characters and dashes, wrapped or not. */
function token(pattern: string): RegExp {
  return new RegExp(`\\b(?:${pattern})(?:${WRAP}(?=[\\w-]*\\d)[\\w-]{16,})*`, "gu");
}

/** A pattern for a known text, wrapped or not. */
function wrappable(text: string): RegExp {
  const characters = Array.from(
    text,
    (character) => character.replace(/[\\^$.*+?()[\]{}|/]/u, "\\$&"),
  );
  return new RegExp(characters.join(`(?:${WRAP})?`), "gu");
}

/** The strings whose name says that they are secrets. */
function namedValues(variables: JsonObject): readonly string[] {
  return Object.entries(variables).flatMap(([name, value]) =>
    typeof value === "string" && SECRET_NAME.test(name) ? [value] : []
  );
}

/** The objects of variables and of headers anywhere in a JSON value. */
function variablesIn(value: unknown): readonly JsonObject[] {
  if (Array.isArray(value)) return value.flatMap(variablesIn);
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([key, item]) =>
    holdsVariables(key, item) ? [item] : variablesIn(item)
  );
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
