import { isJsonObject } from "../../../json_object.ts";

/** The child's config dir, and the user's, to which go what the child wrote below `projects/`. */
export interface Homes {
  readonly child: string;
  readonly user: string;
}

/**
 * A value of JSON that names what goes home as it will be there: such as an output that was too long for the model, of
 * which it is told the file.
 */
export function atHome<Value>(value: Value, homes: Homes): Value {
  return moved(value, { from: `${homes.child}/projects/`, to: `${homes.user}/projects/` }) as Value;
}

function moved(
  value: unknown,
  way: { readonly from: string; readonly to: string },
): unknown {
  if (typeof value === "string") {
    // Most are shorter, which is seen sooner.
    const isLonger = value.length >= way.from.length;
    return isLonger && value.includes(way.from) ? value.replaceAll(way.from, () => way.to) : value;
  }
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => moved(item, way));
    return items.every((item, place) => item === value[place]) ? value : items;
  }
  if (!isJsonObject(value)) return value;
  let changed: Record<string, unknown> | undefined;
  for (const key of Object.keys(value)) {
    const next = moved(value[key], way);
    if (next === value[key]) continue;
    changed ??= { ...value };
    changed[key] = next;
  }
  return changed ?? value;
}
