import { checked, ERRNO, lastErrno, LibcError } from "./errno.ts";
import { libc } from "./libc.ts";

/** "again": nothing can be done now, poll first. "end": the other side is gone for good. */
export type Blocked = "again" | "end";

/**
 * How often a call is repeated whose error nobody expects.
 *
 * Once in some hundred thousand failing calls, most often while the program is young, errno is that of an
 * earlier call by the time it can be read (Deno 2.9.6). A call that failed has done nothing, so it may be made
 * again; a real error comes again.
 */
const REPEATS = 2;

/**
 * Reads into `buffer` from a nonblocking fd and says how many bytes arrived.
 *
 * A pty master whose last slave is closed answers EIO, which is as much the end as 0 bytes are.
 * What was written before that is always delivered first. One read of a pty gives about 4 KB at
 * most.
 *
 * @throws RangeError for an empty buffer: its 0 bytes would look like the end.
 * @throws LibcError for any error but EAGAIN, EINTR and EIO.
 */
export function readFd(fd: number, buffer: Uint8Array<ArrayBuffer>): number | Blocked {
  if (buffer.length === 0) throw new RangeError("Cannot read: the buffer is empty");
  const { read } = libc();
  for (let unexpected = 0;;) {
    const count = Number(read(fd, buffer, BigInt(buffer.length)));
    if (count > 0) return count;
    if (count === 0) return "end";
    const errno = lastErrno();
    if (errno === ERRNO.EAGAIN) return "again";
    if (errno === ERRNO.EIO) return "end";
    if (errno !== ERRNO.EINTR && unexpected++ >= REPEATS) {
      throw new LibcError(errno, { call: "read", action: `read fd ${fd}` });
    }
  }
}

/**
 * Writes to a nonblocking fd and says how many bytes were accepted, which may be only the first
 * few.
 *
 * EIO (a slave whose master is closed) and EPIPE (a pipe nobody reads) are the end. A pty master
 * whose last slave is closed still takes bytes: there only reading tells the end.
 *
 * @throws LibcError for any error but EAGAIN, EINTR, EIO and EPIPE.
 */
export function writeFd(fd: number, bytes: Uint8Array<ArrayBuffer>): number | Blocked {
  if (bytes.length === 0) return 0;
  const { write } = libc();
  for (let unexpected = 0;;) {
    const count = Number(write(fd, bytes, BigInt(bytes.length)));
    if (count >= 0) return count;
    const errno = lastErrno();
    if (errno === ERRNO.EAGAIN) return "again";
    if (errno === ERRNO.EIO || errno === ERRNO.EPIPE) return "end";
    if (errno !== ERRNO.EINTR && unexpected++ >= REPEATS) {
      throw new LibcError(errno, { call: "write", action: `write to fd ${fd}` });
    }
  }
}

/**
 * Closes `fd`. EINTR is not retried, since Linux has closed the fd by then (close(2)).
 *
 * @throws LibcError for any other error; EBADF says that the fd was not the caller's to close.
 */
export function closeFd(fd: number): void {
  const result = libc().close(fd);
  if (result === -1 && lastErrno() === ERRNO.EINTR) return;
  checked(result, { call: "close", action: `close fd ${fd}` });
}

/** What an fd is open on, as far as it matters here. */
export interface FdStat {
  readonly kind: "file" | "null device" | "other";
  /** Size of a file, in bytes. */
  readonly size: number;
}

/** `struct stat` on x86_64: its size in bytes, and where mode, device number and size are. */
const STAT_BYTES = 144;
const ST_MODE = 24;
const ST_RDEV = 40;
const ST_SIZE = 48;

/** Kinds of files in the mode (inode(7)), and the number of /dev/null: major 1, minor 3 (null(4)). */
const S_IFMT = 0o170000;
const S_IFCHR = 0o020000;
const S_IFREG = 0o100000;
const NULL_DEVICE = 0x103n;

/**
 * Tells what `fd` is open on.
 *
 * @throws LibcError EBADF when it is not open.
 */
export function fdStat(fd: number): FdStat {
  const stat = new Uint8Array(STAT_BYTES);
  checked(libc().fstat(fd, stat), { call: "fstat", action: `look at fd ${fd}` });
  const view = new DataView(stat.buffer);
  const format = view.getUint32(ST_MODE, true) & S_IFMT;
  const isNull = format === S_IFCHR && view.getBigUint64(ST_RDEV, true) === NULL_DEVICE;
  return {
    kind: format === S_IFREG ? "file" : isNull ? "null device" : "other",
    size: Number(view.getBigInt64(ST_SIZE, true)),
  };
}
