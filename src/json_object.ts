/** A JSON object whose fields Claude Code may change from version to version. */
export interface JsonObject {
  readonly [field: string]: unknown;
}

/** Tells a JSON object from every other value. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns a value that is a string; undefined for every other value. */
export function asString(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** Returns the JSON objects of an array; none for a value that is no array. */
export function jsonObjects(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** Returns the strings of an array; none for a value that is no array. */
export function jsonStrings(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}

/** Sorts the keys of a JSON object; returns every other value as it is. For the second parameter of `JSON.stringify`. */
export function withSortedKeys(value: unknown): unknown {
  return isJsonObject(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1))
    : value;
}

/**
 * A value of JSON as a text. A template or `String` throws where an object has a `toString` of its own, which is no
 * function in JSON: what comes from outside could end a run with it.
 */
export function asText(value: unknown): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
