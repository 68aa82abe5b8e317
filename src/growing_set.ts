/** A set that only grows. Growing costs the same however large it is: the new set shares the items of the old one. */
export interface GrowingSet<Item> {
  readonly has: (item: Item) => boolean;
  /** A set that has an item too. The items are copied if another set has grown out of this one. */
  readonly with: (item: Item) => GrowingSet<Item>;
}

/**
 * Makes a set.
 *
 * @param places the items, by their order; items from `size` on belong to sets that have grown out of this one
 */
export function growingSet<Item>(
  places: Map<Item, number> = new Map(),
  size = places.size,
): GrowingSet<Item> {
  const has = (item: Item) => (places.get(item) ?? size) < size;
  const set: GrowingSet<Item> = {
    has,
    with: (item) => {
      if (has(item)) return set;
      const own = places.size > size ? new Map([...places].slice(0, size)) : places;
      return growingSet(own.set(item, size));
    },
  };
  return set;
}
