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
    return value.includes(way.from) ? value.replaceAll(way.from, () => way.to) : value;
  }
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => moved(item, way));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  let changed: Record<string, unknown> | undefined;
  for (const [key, item] of Object.entries(value)) {
    const next = moved(item, way);
    if (next !== item) (changed ??= { ...value })[key] = next;
  }
  return changed ?? value;
}
