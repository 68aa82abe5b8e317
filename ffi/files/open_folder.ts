import { cString } from "../c_string.ts";
import { checked, LibcError } from "../errno.ts";
import { closeFd } from "../descriptors/fd.ts";
import { libc } from "../libc.ts";

const O_RDONLY = 0;
const O_DIRECTORY = 0o200000;
const O_NOFOLLOW = 0o400000;
const O_CLOEXEC = 0o2000000;
const O_PATH = 0o10000000;

/** A folder that is held: whatever its path leads to later, this is the one that was found there. */
export class OpenFolder implements Disposable {
  readonly #fd: number;
  #held = true;

  private constructor(fd: number) {
    this.#fd = fd;
  }

  /**
   * Holds a folder below another one. No link is followed on the way, nor at its end: whoever may write there could lead
   * somewhere else by one.
   *
   * @param base an absolute path
   * @param names the names on the way down from there
   * @returns undefined where there is no such folder, or something else in its place
   */
  static find(base: string, names: readonly string[]): OpenFolder | undefined {
    let folder = OpenFolder.#at(base);
    for (const name of names) {
      if (folder === undefined) return undefined;
      using parent = folder;
      folder = OpenFolder.#at(`${parent.path}/${name}`);
    }
    return folder;
  }

  static #at(path: string): OpenFolder | undefined {
    const fd = libc().open(cString(path), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd === -1 ? undefined : new OpenFolder(fd);
  }

  /** The path by which this program reaches it. */
  get path(): string {
    return `/proc/self/fd/${this.#fd}`;
  }

  /**
   * The names of what is in it, in no order; none where it cannot be read.
   *
   * @param options.most after so many it is enough, with some more
   */
  names(options: { readonly most: number }): readonly string[] {
    const path = `${this.path}/.`;
    const fd = libc().open(cString(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd === -1) return [];
    try {
      return readNames(fd, { path, ...options }).filter((name) => name !== "." && name !== "..");
    } catch (error) {
      if (error instanceof LibcError) return [];
      throw error;
    } finally {
      closeFd(fd);
    }
  }

  [Symbol.dispose](): void {
    if (!this.#held) return;
    this.#held = false;
    closeFd(this.#fd);
  }
}

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
