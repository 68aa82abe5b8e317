import { isJsonObject, type JsonObject } from "../../transcript/json_object.ts";
import { isSessionId } from "../../transcript/session_id.ts";

/** Ids of the recorded run, and what stands for each of them in this one. */
export type Renamed = ReadonlyMap<string, string>;

/** A value of JSON with the ids of this run; those that are UUIDs are renamed within texts, as in a path, as well. */
export function asTold<Value>(value: Value, renamed: Renamed): Value {
  return renamed.size === 0 ? value : told(value, renamed) as Value;
}

function told(value: unknown, renamed: Renamed): unknown {
  if (typeof value === "string") return textAsTold(value, renamed);
  if (Array.isArray(value)) return value.map((each) => told(each, renamed));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, told(each, renamed)]),
  ) as JsonObject;
}

function textAsTold(text: string, renamed: Renamed): string {
  const exact = renamed.get(text);
  if (exact !== undefined) return exact;
  let result = text;
  for (const [from, to] of renamed) {
    if (isSessionId(from) && result.includes(from)) result = result.replaceAll(from, () => to);
  }
  return result;
}
