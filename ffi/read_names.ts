import { checked } from "./errno.ts";
import { libc } from "./libc.ts";

/** `d_reclen` and `d_name` of a `struct linux_dirent64` (getdents(2)). */
const RECORD_LENGTH_OFFSET = 16;
const NAME_OFFSET = 19;

/**
 * The names of all that is in a folder, itself and its parent among them, in no order.
 *
 * @param fd the folder, opened for reading and not read before
 * @param options.path what it is called in an error
 * @param options.most after so many names it is enough, with some more; all by default
 * @throws LibcError as getdents64(2) says
 */
export function readNames(
  fd: number,
  { path, most = Infinity }: { readonly path: string; readonly most?: number },
): readonly string[] {
  const names: string[] = [];
  const buffer = new Uint8Array(32 * 1024);
  while (names.length < most) {
    const length = Number(libc().getdents64(fd, buffer, BigInt(buffer.length)));
    checked(length, { call: "getdents64", action: "list the folder", path });
    if (length === 0) break;
    names.push(...namesIn(buffer.subarray(0, length)));
  }
  return names;
}

function namesIn(records: Uint8Array<ArrayBuffer>): readonly string[] {
  const view = new DataView(records.buffer, records.byteOffset, records.length);
  const decoder = new TextDecoder();
  const names: string[] = [];
  for (let offset = 0; offset < records.length;) {
    const end = offset + view.getUint16(offset + RECORD_LENGTH_OFFSET, true);
    const start = offset + NAME_OFFSET;
    names.push(decoder.decode(records.subarray(start, records.indexOf(0, start))));
    offset = end;
  }
  return names;
}
