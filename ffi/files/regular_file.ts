import { cString } from "../c_string.ts";
import { ERRNO, lastErrno, LibcError } from "../errno.ts";
import { closeFd, fdStat } from "../descriptors/fd.ts";
import { libc } from "../libc.ts";

const O_RDONLY = 0;
const O_NOCTTY = 0o400;
const O_NONBLOCK = 0o4000;
const O_NOFOLLOW = 0o400000;
const O_CLOEXEC = 0o2000000;
const O_PATH = 0o10000000;

/** A path does not lead to a regular file, or to one that is too large or cannot be opened. */
export class UnfitFileError extends Error {
  override readonly name = "UnfitFileError";
  readonly path: string;
  /** One clause, such as "it is not a regular file". */
  readonly reason: string;
  /** The remedy for the user. */
  readonly suggestion = "Put a regular file that you may read in its place, or remove it";

  constructor(
    path: string,
    { reason, cause }: { readonly reason: string; readonly cause?: unknown },
  ) {
    super(`Cannot read "${path}": ${reason}`, { cause });
    this.path = path;
    this.reason = reason;
  }
}

/**
 * Reads a file that another user or program may have made, without ever blocking.
 *
 * First opens the path with O_PATH, which has no effect on a FIFO, a terminal or `/dev/zero`, and checks that it is a
 * regular file. Then opens and reads that same file, even if the path leads to another one by then. Does not wait for a
 * file that another program keeps by a lease (fcntl(2)).
 *
 * @param options.limit the maximum size of the file, in bytes
 * @param options.from the first byte, counted from the start of the file; 0 by default
 * @param options.most the maximum number of bytes to read; all by default
 * @throws {UnfitFileError} if it is not a regular file, larger than the limit, or cannot be opened
 * @throws {Deno.errors.NotFound} if it does not exist
 */
export function readRegularFile(
  path: string,
  { limit, from = 0, most = limit }: {
    readonly limit: number;
    readonly from?: number;
    readonly most?: number;
  },
): Uint8Array<ArrayBuffer> {
  const fd = openRegular(path);
  try {
    const { size } = fdStat(fd);
    if (size > limit) throw tooLarge(path, limit);
    // One more byte than expected shows whether the file is longer.
    let bytes = new Uint8Array(Math.min(Math.max(size - from, 0), most) + 1);
    for (let length = 0;;) {
      const count = readAt(fd, { into: bytes.subarray(length), at: from + length, path });
      if (count === 0) return bytes.subarray(0, length);
      length += count;
      if (length >= most) return bytes.subarray(0, most);
      if (from + length > limit) throw tooLarge(path, limit);
      if (length < bytes.length) continue;
      const larger = new Uint8Array(2 * bytes.length + 4096);
      larger.set(bytes);
      bytes = larger;
    }
  } finally {
    closeFd(fd);
  }
}

/** Reads a file as UTF-8; undefined if `readRegularFile` throws. */
export function tryReadText(path: string, limit: number): string | undefined {
  try {
    return new TextDecoder().decode(readRegularFile(path, { limit }));
  } catch {
    return undefined;
  }
}

/**
 * An open regular file that is read in pieces, with the checks of `readRegularFile`. A link is refused unless
 * `followsLinks` is set. It stays the same file even if its path is removed or replaced.
 */
export class RegularFile implements Disposable {
  readonly #fd: number;
  readonly #path: string;
  /** Device and inode, which identify the file. */
  readonly id: string;

  /**
   * @throws {UnfitFileError} if it is not a regular file, or cannot be opened
   * @throws {Deno.errors.NotFound} if it does not exist
   */
  constructor(path: string, { followsLinks = false }: { readonly followsLinks?: boolean } = {}) {
    this.#path = path;
    this.#fd = openRegular(path, followsLinks ? 0 : O_NOFOLLOW);
    this.id = fdStat(this.#fd).id;
  }

  /** The current size in bytes. */
  get size(): number {
    return fdStat(this.#fd).size;
  }

  /**
   * Reads into a buffer and returns the number of bytes; 0 at the end of the file.
   *
   * @param at the first byte, counted from the start of the file
   * @throws {UnfitFileError} if it cannot be read any more
   */
  read(into: Uint8Array<ArrayBuffer>, at: number): number {
    return readAt(this.#fd, { into, at, path: this.#path });
  }

  [Symbol.dispose](): void {
    closeFd(this.#fd);
  }
}

function openRegular(path: string, following = 0): number {
  const held = open(path, { flags: O_PATH | O_CLOEXEC | following, named: path });
  try {
    if (fdStat(held).kind !== "file") {
      throw new UnfitFileError(path, { reason: "it is not a regular file" });
    }
    const flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    return open(`/proc/self/fd/${held}`, { flags, named: path });
  } finally {
    closeFd(held);
  }
}

function open(
  path: string,
  { flags, named }: { readonly flags: number; readonly named: string },
): number {
  const fd = libc().open(cString(path), flags);
  if (fd !== -1) return fd;
  const cause = new LibcError(lastErrno(), { call: "open", action: "open", path: named });
  const { errno, description } = cause;
  if (errno === ERRNO.ENOENT || errno === ERRNO.ENOTDIR) {
    throw new Deno.errors.NotFound(cause.message, { cause });
  }
  const reason = errno === ERRNO.EAGAIN ? "another program keeps it" : description;
  throw new UnfitFileError(named, { reason, cause });
}

/** Reads at a position and returns the number of bytes; 0 at the end of the file. */
function readAt(
  fd: number,
  { into, at, path }: {
    readonly into: Uint8Array<ArrayBuffer>;
    readonly at: number;
    readonly path: string;
  },
): number {
  for (;;) {
    const count = Number(libc().pread(fd, into, BigInt(into.length), BigInt(at)));
    if (count !== -1) return count;
    if (lastErrno() === ERRNO.EINTR) continue;
    const cause = new LibcError(lastErrno(), { call: "pread", action: "read", path });
    throw new UnfitFileError(path, { reason: cause.description, cause });
  }
}

function tooLarge(path: string, limit: number): UnfitFileError {
  return new UnfitFileError(path, { reason: `it is larger than ${limit / 1_000_000} MB` });
}
