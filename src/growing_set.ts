/** An immutable set. Adding an item takes constant time, because the new set shares the items of the old one. */
export interface GrowingSet<Item> {
  readonly has: (item: Item) => boolean;
  /** Returns a set that also contains the item. Copies the items if another set has grown out of this one. */
  readonly with: (item: Item) => GrowingSet<Item>;
}

/**
 * Creates a set.
 *
 * @param places the index of each item; indices from `size` on belong to sets that have grown out of this one
 * @param size the number of items of this set
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
