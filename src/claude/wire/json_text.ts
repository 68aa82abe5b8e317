import { constantsOfVersion, isKnownKey, keysOfVersion } from "../versions/profiles.ts";
import type { WireObject } from "../versions/profile_index.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";

/** Levels of objects and arrays. No run writes so many, and recursive functions of this program can handle more. */
const MAX_DEPTH = 500;

/** Returns true for a JSON text of more than 500 levels, whose value could overflow the stack of recursive functions. */
export function isTooDeep(json: string): boolean {
  if (!hasManyOpenings(json)) return false;
  let depth = 0;
  let isString = false;
  for (let at = 0; at < json.length; at++) {
    const character = json[at];
    if (isString) {
      if (character === "\\") at++;
      else if (character === '"') isString = false;
    } else if (character === '"') {
      isString = true;
    } else if (character === "{" || character === "[") {
      depth++;
      if (depth > MAX_DEPTH) return true;
    } else if (character === "}" || character === "]") {
      depth--;
    }
  }
  return false;
}

/** Counts opening brackets, also those in strings. This is faster than `isTooDeep`, and rules out most texts. */
function hasManyOpenings(json: string): boolean {
  if (json.length <= MAX_DEPTH) return false;
  let count = 0;
  for (const opening of ["{", "["]) {
    for (let at = json.indexOf(opening); at !== -1; at = json.indexOf(opening, at + 1)) {
      count++;
      if (count > MAX_DEPTH) return true;
    }
  }
  return false;
}

/** Formats a value as JSON on one line. Escapes U+2028 and U+2029, which some readers treat as line ends. */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value).replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
}

/**
 * Picks the fields that `claude -p` of a version prints, in the order of the version's profile, without undefined values.
 * An `init` or a `result` also gets the constants of the version for keys that are not in `fields`.
 *
 * @param options.extra also keeps keys that no profile has, at the end: new fields of the API, which Claude Code passes on
 */
export function pickWireKeys(
  object: WireObject,
  fields: Readonly<Record<string, unknown>>,
  { version, extra = false }: { readonly version: string; readonly extra?: boolean },
): Record<string, unknown> {
  const picked: Record<string, unknown> = {};
  const constants = object === "init" || object === "result"
    ? constantsOfVersion(version, object)
    : {};
  for (const key of keysOfVersion(version, object)) {
    const value = Object.hasOwn(fields, key) ? fields[key] : constants[key];
    if (value !== undefined) picked[key] = value;
  }
  if (!extra) return picked;
  const others = Object.entries(fields).filter(([key, value]) =>
    value !== undefined && !isKnownKey(object, key)
  );
  return { ...picked, ...Object.fromEntries(others) };
}

/** Parses a JSON text; undefined if it is not JSON or nested too deeply. */
export function parseJson(text: string): unknown {
  if (isTooDeep(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Parses the text of a JSON object; undefined for other values and where `parseJson` returns undefined. */
export function parseJsonObject(text: string): JsonObject | undefined {
  const value = parseJson(text);
  return isJsonObject(value) ? value : undefined;
}
