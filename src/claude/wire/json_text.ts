import { constantsOfVersion, isKnownKey, keysOfVersion } from "../versions/profiles.ts";
import type { WireObject } from "../versions/profile_index.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";

/** Levels of objects and arrays in each other: no run writes so many, and what walks over them has room for more. */
const DEEPEST = 500;

/** Whether a JSON text is nested so deeply that what becomes of it could not be walked over, or written again. */
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
      if (depth > DEEPEST) return true;
    } else if (character === "}" || character === "]") {
      depth--;
    }
  }
  return false;
}

/** Whether a text opens enough objects and arrays to be too deep, those within strings included: that is seen faster. */
function hasManyOpenings(json: string): boolean {
  if (json.length <= DEEPEST) return false;
  let count = 0;
  for (const opening of ["{", "["]) {
    for (let at = json.indexOf(opening); at !== -1; at = json.indexOf(opening, at + 1)) {
      count++;
      if (count > DEEPEST) return true;
    }
  }
  return false;
}

/** A value as JSON on one line, without the two separators that some readers of lines take for the end of one. */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value).replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
}

/**
 * Keeps of an object what `claude -p` of a version prints, in the order of the version's profile, and drops undefined
 * values. An `init` or a `result` also gets the constants of the version, for keys that `fields` does not name at all.
 *
 * With `extra`, keys that no version has stay too, at the end: fields of the API that Claude Code passes on as they come.
 */
export function onlyWireKeys(
  object: WireObject,
  fields: Readonly<Record<string, unknown>>,
  { version, extra = false }: { readonly version: string; readonly extra?: boolean },
): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  const constants = object === "init" || object === "result"
    ? constantsOfVersion(version, object)
    : {};
  for (const key of keysOfVersion(version, object)) {
    const value = Object.hasOwn(fields, key) ? fields[key] : constants[key];
    if (value !== undefined) kept[key] = value;
  }
  if (!extra) return kept;
  const others = Object.entries(fields).filter(([key, value]) =>
    value !== undefined && !isKnownKey(object, key)
  );
  return { ...kept, ...Object.fromEntries(others) };
}

/** The JSON value of a text; undefined for a text that is no JSON, or is nested too deeply. */
export function jsonIn(text: string): unknown {
  if (isTooDeep(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The same for a JSON object; undefined for other values. */
export function jsonObjectIn(text: string): JsonObject | undefined {
  const value = jsonIn(text);
  return isJsonObject(value) ? value : undefined;
}
