/** A JSON object whose fields Claude Code may change from version to version. */
export interface JsonObject {
  readonly [field: string]: unknown;
}

/** Tells a JSON object from every other value. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * A value of JSON as a text. A template or `String` throws where an object has a `toString` of its own, which is no
 * function in JSON: what comes from outside could end a run with it.
 */
export function asText(value: unknown): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
