/**
 * A map that is never changed: what is put into it or taken out makes another one, which shares with it all but the
 * entries that came last. Whoever goes on with the newest one takes, over n changes, some n log n steps; whoever copies a
 * `Map` at each of them takes n².
 *
 * It is a row of maps, each more than twice as large as the one behind it, in which what stands later counts. What
 * was taken out stands in one as `GONE`.
 */
export interface GrownMap<Key, Value> {
  readonly size: number;
  readonly layers: readonly ReadonlyMap<Key, Value | typeof GONE>[];
}

const GONE = Symbol("gone");
const EMPTY: GrownMap<never, never> = { size: 0, layers: [] };

/** A map of nothing, or of some entries. */
export function grownMap<Key, Value>(
  entries: Iterable<readonly [Key, Value]> = [],
): GrownMap<Key, Value> {
  const layer = new Map(entries);
  return layer.size === 0 ? EMPTY as GrownMap<Key, Value> : { size: layer.size, layers: [layer] };
}

/** What stands under a key; undefined for nothing. */
export function valueAt<Key, Value>(
  { layers }: GrownMap<Key, Value>,
  key: Key,
): Value | undefined {
  for (let index = layers.length - 1; index >= 0; index--) {
    const value = layers[index]?.get(key);
    if (value !== undefined) return value === GONE ? undefined : value as Value;
  }
  return undefined;
}

/** The map with a value under a key, in the place of what stood there. */
export function withValue<Key, Value extends NonNullable<unknown>>(
  map: GrownMap<Key, Value>,
  entry: readonly [Key, Value],
): GrownMap<Key, Value> {
  const isNew = valueAt(map, entry[0]) === undefined;
  return { size: map.size + Number(isNew), layers: grown(map.layers, new Map([entry])) };
}

/** The map without what stands under a key. */
export function withoutValue<Key, Value>(
  map: GrownMap<Key, Value>,
  key: Key,
): GrownMap<Key, Value> {
  if (valueAt(map, key) === undefined) return map;
  if (map.size === 1) return EMPTY as GrownMap<Key, Value>;
  return { size: map.size - 1, layers: grown(map.layers, new Map([[key, GONE]])) };
}

/** All keys, those first that came first. */
export function keysOf<Key>({ layers }: GrownMap<Key, unknown>): readonly Key[] {
  const all = new Map<Key, unknown>();
  for (const layer of layers) put(all, layer);
  return [...all].flatMap(([key, value]) => value === GONE ? [] : [key]);
}

/** A row of maps with one more, joined with those before it that are not larger than twice what they are joined with. */
function grown<Key, Value>(
  layers: GrownMap<Key, Value>["layers"],
  last: ReadonlyMap<Key, Value | typeof GONE>,
): GrownMap<Key, Value>["layers"] {
  let size = last.size;
  let from = layers.length;
  for (let layer = layers[from - 1]; layer !== undefined; layer = layers[from - 1]) {
    if (layer.size > 2 * size) break;
    size += layer.size;
    from--;
  }
  if (from === layers.length) return [...layers, last];
  const joined = new Map<Key, Value | typeof GONE>();
  for (const layer of layers.slice(from)) put(joined, layer);
  put(joined, last);
  // There is nothing below the first one that could be gone.
  for (const [key, value] of from === 0 ? joined : []) if (value === GONE) joined.delete(key);
  return [...layers.slice(0, from), joined];
}

function put<Key, Value>(into: Map<Key, Value>, layer: ReadonlyMap<Key, Value>): void {
  for (const [key, value] of layer) into.set(key, value);
}
