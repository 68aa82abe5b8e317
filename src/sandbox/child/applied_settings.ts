import type { JsonObject } from "../../json_object.ts";

/** Settings with those over them that a caller has applied since; null takes one away. */
export function appliedSettings(settings: JsonObject, flagSettings: JsonObject = {}): JsonObject {
  const merged = Object.entries({ ...settings, ...flagSettings });
  return Object.fromEntries(merged.filter(([, value]) => value !== null));
}
