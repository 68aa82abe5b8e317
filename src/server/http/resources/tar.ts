import { RegularFile } from "../../../../ffi/files/regular_file.ts";

const BLOCK = 512;
const PIECE = 64 * 1024;

/**
 * A folder as a tar archive (POSIX ustar), in pieces. A file that grows meanwhile is in it as long as it was when it came to
 * it; what is neither a file nor a folder is left out, and so is what is gone by then.
 *
 * @param name what the folder is called in it
 */
export function* tarOf(folder: string, name: string): Generator<Uint8Array, undefined> {
  yield* folderIn(folder, name);
  yield new Uint8Array(2 * BLOCK);
}

function* folderIn(path: string, name: string): Generator<Uint8Array> {
  let entries: readonly Deno.DirEntry[];
  try {
    entries = [...Deno.readDirSync(path)].toSorted((a, b) => a.name < b.name ? -1 : 1);
  } catch {
    return;
  }
  yield header({ name: `${name}/`, size: 0, type: "5", mode: "0000700" });
  for (const entry of entries) {
    const inner = { path: `${path}/${entry.name}`, name: `${name}/${entry.name}` };
    if (entry.isDirectory) yield* folderIn(inner.path, inner.name);
    else if (entry.isFile) yield* fileIn(inner.path, inner.name);
  }
}

function* fileIn(path: string, name: string): Generator<Uint8Array> {
  let opened: RegularFile;
  try {
    opened = new RegularFile(path);
  } catch {
    return;
  }
  using file = opened;
  const { size } = file;
  yield header({ name, size, type: "0", mode: "0000600" });
  for (let at = 0; at < size;) {
    const piece = new Uint8Array(Math.min(PIECE, size - at));
    const count = file.read(piece, at);
    // Of one that was cut meanwhile zeros stand for the rest: its length has been said.
    at += count === 0 ? piece.length : count;
    yield count === 0 ? piece : piece.subarray(0, count);
  }
  yield new Uint8Array((BLOCK - size % BLOCK) % BLOCK);
}

/** The fields of a ustar header: where each stands, and how long it is. */
const FIELDS = {
  name: [0, 100],
  mode: [100, 8],
  uid: [108, 8],
  gid: [116, 8],
  size: [124, 12],
  mtime: [136, 12],
  sum: [148, 8],
  type: [156, 1],
  magic: [257, 8],
} as const;

function header(
  { name, size, type, mode }: {
    readonly name: string;
    readonly size: number;
    readonly type: "0" | "5";
    readonly mode: string;
  },
): Uint8Array {
  const block = new Uint8Array(BLOCK);
  const encoder = new TextEncoder();
  const set = (field: keyof typeof FIELDS, text: string) => {
    const [at, length] = FIELDS[field];
    encoder.encodeInto(text, block.subarray(at, at + length));
  };
  set("name", name);
  set("mode", mode);
  set("uid", "0000000");
  set("gid", "0000000");
  set("size", size.toString(8).padStart(11, "0"));
  set("mtime", Math.floor(Date.now() / 1000).toString(8).padStart(11, "0"));
  set("type", type);
  set("magic", "ustar\0" + "00");
  set("sum", "        ");
  const sum = block.reduce((total, byte) => total + byte, 0);
  set("sum", `${sum.toString(8).padStart(6, "0")}\0 `);
  return block;
}
