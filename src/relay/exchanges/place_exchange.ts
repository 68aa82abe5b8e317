import { isLinked } from "./is_linked.ts";

/**
 * Puts the file of an exchange in the place of another one, by the name that its key asks for. Whatever ends this program
 * meanwhile, one of both is there.
 *
 * @param options.old the file in whose place it is
 * @param options.key what its request is known by, in hexadecimal digits
 */
export function placeExchange(
  from: string,
  { old, folder, key }: { readonly old: string; readonly folder: string; readonly key: string },
): void {
  const begin = `${folder}/${key.slice(0, 16)}-`;
  if (old.startsWith(begin)) {
    Deno.renameSync(from, old);
    return;
  }
  for (let number = 0;; number++) {
    const path = `${begin}${number}.json`;
    if (isLinked(from, path)) break;
    // It was placed before by one who was killed then.
    if (isSame(from, path)) break;
  }
  Deno.removeSync(old);
}

function isSame(one: string, other: string): boolean {
  return Deno.statSync(one).size === Deno.statSync(other).size &&
    Deno.readTextFileSync(one) === Deno.readTextFileSync(other);
}
