const BLOCK = 512;
const REGULAR = ["", "0"];

/**
 * Reads the regular files of a tar archive, by path from the root.
 *
 * @throws {Error} for anything else in it
 */
export function untar(archive: Uint8Array): ReadonlyMap<string, Uint8Array<ArrayBuffer>> {
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  const text = (from: number, length: number) =>
    new TextDecoder().decode(archive.subarray(from, from + length)).replace(/\0.*$/su, "");
  for (let at = 0; at < archive.length && archive[at] !== 0;) {
    const path = text(at, 100);
    const size = Number.parseInt(text(at + 124, 12), 8);
    const type = text(at + 156, 1);
    if (!REGULAR.includes(type)) throw new Error(`Cannot read ${path}: it is of type ${type}`);
    const from = at + BLOCK;
    files.set(path.replace(/^(?:\.\/)?/u, "/"), archive.slice(from, from + size));
    at = from + Math.ceil(size / BLOCK) * BLOCK;
  }
  return files;
}
