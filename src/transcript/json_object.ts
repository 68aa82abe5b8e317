/** A JSON object whose fields Claude Code may change from version to version. */
export interface JsonObject {
  readonly [field: string]: unknown;
}

/** Tells a JSON object from every other value. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
