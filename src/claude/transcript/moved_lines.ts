import { isJsonObject } from "../../json_object.ts";

/** The ids that the caller gave to its messages, by the ids of their lines in the transcript. */
export type GivenIds = Pick<ReadonlyMap<string, string>, "get" | "has" | "size">;

/** Replaces each string of a JSON value that is an id of the transcript by the caller's id. */
export function replaceIds<Value>(value: Value, ids: GivenIds): Value {
  return (ids.size === 0 ? value : replaceIdsIn(value, ids)) as Value;
}

function replaceIdsIn(value: unknown, ids: GivenIds): unknown {
  if (typeof value === "string") return ids.get(value) ?? value;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => replaceIdsIn(item, ids));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, replaceIdsIn(item, ids)]),
  );
}

/** The child's config folder and the user's. What the child writes below `projects/` is moved to the user's. */
export interface ConfigFolders {
  readonly child: string;
  readonly user: string;
}

/**
 * Replaces paths below the child's `projects/` by those in the user's config folder. One example is the file of an output
 * that was too long for the model.
 */
export function replaceConfigFolder<Value>(value: Value, homes: ConfigFolders): Value {
  return replacePaths(value, {
    from: `${homes.child}/projects/`,
    to: `${homes.user}/projects/`,
  }) as Value;
}

function replacePaths(
  value: unknown,
  way: { readonly from: string; readonly to: string },
): unknown {
  if (typeof value === "string") {
    // Most strings are shorter, and the comparison of lengths is faster than the search.
    const isLonger = value.length >= way.from.length;
    return isLonger && value.includes(way.from) ? value.replaceAll(way.from, () => way.to) : value;
  }
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => replacePaths(item, way));
    return items.every((item, place) => item === value[place]) ? value : items;
  }
  if (!isJsonObject(value)) return value;
  let changed: Record<string, unknown> | undefined;
  for (const key of Object.keys(value)) {
    const next = replacePaths(value[key], way);
    if (next === value[key]) continue;
    changed ??= { ...value };
    changed[key] = next;
  }
  return changed ?? value;
}
