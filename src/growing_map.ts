/**
 * A map to which is mostly only added, which costs the same however large it is. Those that have grown out of one another
 * share what they hold, each as far as it has come itself.
 */
export interface GrowingMap<Key, Value> extends Pick<ReadonlyMap<Key, Value>, "get" | "has"> {
  readonly size: number;
  /** The values, those that were there first ahead. */
  readonly values: () => readonly Value[];
  /** A map that has a value for a key too; it is copied where there was one, or another map has grown out of this one. */
  readonly with: (key: Key, value: Value) => GrowingMap<Key, Value>;
  /** A copy that has none for it. */
  readonly without: (key: Key) => GrowingMap<Key, Value>;
}

/** What maps share: which value is whose, and the values. */
interface Shared<Key, Value> {
  readonly places: Map<Key, number>;
  readonly values: Value[];
}

/** A map of entries, or without any. */
export function growingMap<Key, Value>(
  entries: Iterable<readonly [Key, Value]> = [],
): GrowingMap<Key, Value> {
  const map = new Map(entries);
  const places = new Map(Array.from(map.keys(), (key, place) => [key, place]));
  return grown({ places, values: [...map.values()] }, map.size);
}

function grown<Key, Value>(shared: Shared<Key, Value>, size: number): GrowingMap<Key, Value> {
  const { places, values } = shared;
  const placeOf = (key: Key): number => {
    const place = places.get(key) ?? size;
    return place < size ? place : -1;
  };
  const entries = () =>
    Array.from(places).slice(0, size).map(([key, place]) => [key, values[place] as Value] as const);
  const map: GrowingMap<Key, Value> = {
    size,
    get: (key) => values[placeOf(key)],
    has: (key) => placeOf(key) >= 0,
    values: () => values.slice(0, size),
    with: (key, value) => {
      const place = placeOf(key);
      if (place >= 0 && values[place] === value) return map;
      if (values.length > size || place >= 0) return growingMap([...entries(), [key, value]]);
      places.set(key, size);
      values.push(value);
      return grown(shared, size + 1);
    },
    without: (key) => growingMap(entries().filter(([other]) => other !== key)),
  };
  return map;
}
