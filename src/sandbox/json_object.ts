/** A JSON object of somebody else's making: nothing is known about its fields. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Whether a value is a JSON object, arrays and null aside. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Reads a JSON object from a file; `undefined` when the file is missing, unreadable or holds something else.
 *
 * @throws {Deno.errors.NotCapable} when Deno has no permission, and so nobody knows what there is
 */
export function readJsonObject(path: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(Deno.readTextFileSync(path));
    return isJsonObject(value) ? value : undefined;
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    return undefined;
  }
}
