import { isJsonObject, type JsonObject } from "../../../json_object.ts";
import { type GrownMap, valueAt } from "./grown_map.ts";

/** Ids of the recorded run, and what stands for each of them in this one. */
export type Renamed = GrownMap<string, string>;

/** A UUID within a text. */
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/giu;

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
  // There may be as many ids as there are texts: each text is gone through once, however many there are.
  return valueAt(renamed, text) ?? text.replace(UUID, (id) => valueAt(renamed, id) ?? id);
}
