import { isJsonObject, type JsonObject } from "./json_object.ts";

/**
 * Adds the token usage of several answers, as `claude -p` does for its `usage` field.
 *
 * Counts are added, also inside nested objects; of everything else (`service_tier`, `speed`,
 * `iterations`, fields not known yet) the last value that is not null wins.
 */
export function summedUsage(usages: Iterable<JsonObject>): JsonObject {
  let sum: JsonObject = {};
  for (const usage of usages) sum = merged(sum, usage);
  return sum;
}

function merged(left: JsonObject, right: JsonObject): JsonObject {
  const entries = new Map(Object.entries(left));
  for (const [field, value] of Object.entries(right)) {
    const before = entries.get(field);
    if (typeof before === "number" && typeof value === "number") entries.set(field, before + value);
    else if (isJsonObject(before) && isJsonObject(value)) entries.set(field, merged(before, value));
    else if (value !== null || before === undefined) entries.set(field, value);
  }
  return Object.fromEntries(entries);
}
