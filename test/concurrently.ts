/**
 * Does something with every item, with at most `limit` under way at a time.
 *
 * @throws what the first of them threw, once all have ended
 */
export async function concurrently<Item>(
  items: readonly Item[],
  { limit, each }: { readonly limit: number; readonly each: (item: Item) => Promise<void> },
): Promise<void> {
  const waiting = [...items];
  const work = async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await each(item);
  };
  const ends = await Promise.allSettled(Array.from({ length: limit }, work));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}
