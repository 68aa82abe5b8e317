import { isLinked } from "./is_linked.ts";

/**
 * Puts the file of an exchange in the place of another one, by the name that its key asks for. Whatever ends this program
 * meanwhile, one of both is there.
 *
 * @param options.old the file in whose place it is; absent for one that stays
 * @param options.key what its request is known by, in hexadecimal digits
 * @param options.numbers which number is the next of each key that files were placed by before
 */
export function placeExchange(
  from: string,
  { old, folder, key, numbers }: {
    readonly old?: string;
    readonly folder: string;
    readonly key: string;
    readonly numbers: Map<string, number>;
  },
): void {
  const begin = `${folder}/${key.slice(0, 16)}-`;
  // One that has broken off becomes like the others.
  if (old?.startsWith(begin) && old.endsWith(".json")) {
    Deno.renameSync(from, old);
    return;
  }
  for (let number = numbers.get(begin) ?? 0;; number++) {
    numbers.set(begin, number + 1);
    const path = `${begin}${number}.json`;
    if (isLinked(from, path)) break;
    // It was placed before by one who was killed then.
    if (isSame(from, path)) break;
  }
  if (old !== undefined) Deno.removeSync(old);
}

function isSame(one: string, other: string): boolean {
  return Deno.statSync(one).size === Deno.statSync(other).size &&
    Deno.readTextFileSync(one) === Deno.readTextFileSync(other);
}
