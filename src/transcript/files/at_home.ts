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
  let changed: Record<string, unknown> | undefined;
  const items = value as Readonly<Record<string, unknown>>;
  for (const key of Object.keys(items)) {
    const next = moved(items[key], way);
    if (next === items[key]) continue;
    changed ??= (Array.isArray(value) ? [...value] : { ...value }) as Record<string, unknown>;
    changed[key] = next;
  }
  return changed ?? value;
}
