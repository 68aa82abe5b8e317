import { cString } from "../c_string.ts";
import { checked, LibcError } from "../errno.ts";
import { closeFd } from "../descriptors/fd.ts";
import { libc } from "../libc.ts";

const O_RDONLY = 0;
const O_DIRECTORY = 0o200000;
const O_NOFOLLOW = 0o400000;
const O_CLOEXEC = 0o2000000;
const O_PATH = 0o10000000;

/** An open folder. It stays the same folder even if its path later leads to another one. */
export class OpenFolder implements Disposable {
  readonly #fd: number;
  #isOpen = true;

  private constructor(fd: number) {
    this.#fd = fd;
  }

  /**
   * Opens a folder below another one. Follows no links, also not at the end, because other users who can write there
   * could redirect them.
   *
   * @param base an absolute path
   * @param names the names of the folders below it, in order
   * @returns undefined if the folder does not exist, or if another kind of file has its name
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

  /** A path to the folder that is valid in this process. */
  get path(): string {
    return `/proc/self/fd/${this.#fd}`;
  }

  /**
   * Returns the names in the folder in no particular order; none if it cannot be read.
   *
   * @param options.most stops after so many names, or a few more
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
    if (!this.#isOpen) return;
    this.#isOpen = false;
    closeFd(this.#fd);
  }
}

/** `d_reclen` and `d_name` of a `struct linux_dirent64` (getdents(2)). */
const RECORD_LENGTH_OFFSET = 16;
const NAME_OFFSET = 19;

/**
 * Returns the names in a folder in no particular order, including `.` and `..`.
 *
 * @param fd the folder, opened for reading and not read before
 * @param options.path the path in an error message
 * @param options.most stops after so many names, or a few more; all by default
 * @throws LibcError for the errors of getdents64(2)
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
