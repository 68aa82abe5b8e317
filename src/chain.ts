/** A list to which is only added, the newest first: adding costs the same however long it is. */
export interface Chain<Item> {
  readonly last: Item;
  readonly before: Chain<Item> | undefined;
  readonly length: number;
}

/** Adds to a chain. */
export function chained<Item>(before: Chain<Item> | undefined, last: Item): Chain<Item> {
  return { last, before, length: (before?.length ?? 0) + 1 };
}

/** The items of a chain, the oldest first. */
export function listOf<Item>(chain: Chain<Item> | undefined): readonly Item[] {
  const items: Item[] = [];
  for (let link = chain; link !== undefined; link = link.before) items.push(link.last);
  return items.reverse();
}

/** A chain of items, the oldest first. */
export function chainOf<Item>(items: readonly Item[]): Chain<Item> | undefined {
  let chain: Chain<Item> | undefined;
  for (const item of items) chain = chained(chain, item);
  return chain;
}
