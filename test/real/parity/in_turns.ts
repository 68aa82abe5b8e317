/** How many rows run at a time: each waits for its API, hooks and timers about half of its time. */
const AT_A_TIME = 2;

/** Does something with each of a list, some at a time, and gives what came of them in their order. */
export async function inTurns<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  const left = items.entries();
  const workOff = async () => {
    for (const [index, item] of left) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, workOff));
  return results;
}
