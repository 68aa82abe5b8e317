/**
 * Where bytes are found in others.
 *
 * @param from where the search begins
 * @returns where they begin, or -1
 */
export function indexOfBytes(bytes: Uint8Array, wanted: Uint8Array, from = 0): number {
  const [first] = wanted;
  if (first === undefined) return from;
  const last = bytes.length - wanted.length;
  for (let at = bytes.indexOf(first, from); at >= 0 && at <= last;) {
    let same = 1;
    while (same < wanted.length && bytes[at + same] === wanted[same]) same++;
    if (same === wanted.length) return at;
    at = bytes.indexOf(first, at + 1);
  }
  return -1;
}
