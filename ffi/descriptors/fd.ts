import { type Attempt, checked, ERRNO, lastErrno, LibcError } from "../errno.ts";
import { libc } from "../libc.ts";

/** "again": the call would block, so poll first. "end": the other side is closed. */
export type Blocked = "again" | "end";

/**
 * How often a call with an unexpected error is repeated.
 *
 * In some hundred thousand failing calls, errno is once that of an earlier call, most often soon after the start (Deno
 * 2.9.6). A failed call had no effect, so it can be repeated. A real error occurs again.
 */
const REPEATS = 2;

/** Flags of send(2). */
const MSG_DONTWAIT = 0x40;
const MSG_NOSIGNAL = 0x4000;

/**
 * Reads into `buffer` from a nonblocking fd and returns the number of bytes that arrived.
 *
 * Returns "end" for 0 bytes, for EIO of a pty master whose last slave is closed, and for ECONNRESET of a socket whose
 * other side closed without reading everything. Bytes that were written before are always delivered first. One read of
 * a pty returns about 4 KB or less.
 *
 * @throws RangeError for an empty buffer, because its 0 bytes would look like the end.
 * @throws LibcError for any error but EAGAIN, EINTR, EIO and ECONNRESET.
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
    if (errno === ERRNO.EIO || errno === ERRNO.ECONNRESET) return "end";
    if (errno !== ERRNO.EINTR && unexpected++ >= REPEATS) {
      throw new LibcError(errno, { call: "read", action: `read fd ${fd}` });
    }
  }
}

/**
 * Writes to a nonblocking fd and returns the number of accepted bytes, which may be only the first few.
 *
 * EIO (a slave whose master is closed) and EPIPE (a pipe without a reader) are the end. A pty master whose last slave
 * is closed still accepts bytes, so only reading shows the end.
 *
 * @throws LibcError for any error but EAGAIN, EINTR, EIO, EPIPE and ECONNRESET.
 */
export function writeFd(fd: number, bytes: Uint8Array<ArrayBuffer>): number | Blocked {
  const { write } = libc();
  return writeAccepted(bytes, {
    hand: () => Number(write(fd, bytes, BigInt(bytes.length))),
    attempt: { call: "write", action: `write to fd ${fd}` },
  });
}

/** Writes to a socket as `writeFd` does. The socket may also be blocking (send(2)). */
export function sendFd(fd: number, bytes: Uint8Array<ArrayBuffer>): number | Blocked {
  const { send } = libc();
  return writeAccepted(bytes, {
    hand: () => Number(send(fd, bytes, BigInt(bytes.length), MSG_DONTWAIT | MSG_NOSIGNAL)),
    attempt: { call: "send", action: `write to fd ${fd}` },
  });
}

/** Writes bytes. Repeats the call after EINTR and after unexpected errors. */
function writeAccepted(
  bytes: Uint8Array<ArrayBuffer>,
  { hand: attemptWrite, attempt }: { readonly hand: () => number; readonly attempt: Attempt },
): number | Blocked {
  if (bytes.length === 0) return 0;
  for (let unexpected = 0;;) {
    const count = attemptWrite();
    if (count >= 0) return count;
    const errno = lastErrno();
    if (errno === ERRNO.EAGAIN) return "again";
    if (errno === ERRNO.EIO || errno === ERRNO.EPIPE || errno === ERRNO.ECONNRESET) return "end";
    if (errno !== ERRNO.EINTR && unexpected++ >= REPEATS) throw new LibcError(errno, attempt);
  }
}

/**
 * Closes `fd`. EINTR is not retried, because Linux has closed the fd in this case (close(2)).
 *
 * @throws LibcError for any other error; EBADF means that the fd was not the caller's to close.
 */
export function closeFd(fd: number): void {
  const result = libc().close(fd);
  if (result === -1 && lastErrno() === ERRNO.EINTR) return;
  checked(result, { call: "close", action: `close fd ${fd}` });
}

/** SEEK_CUR of lseek(2). */
const SEEK_CUR = 1;

/**
 * Returns the position of an open file in bytes from its start, where the next read or write begins. After a write with
 * O_APPEND it is the end of the written bytes.
 *
 * @throws LibcError ESPIPE if it is no file.
 */
export function filePosition(fd: number): number {
  const position = Number(libc().lseek(fd, 0n, SEEK_CUR));
  return checked(position, { call: "lseek", action: `ask for the position of fd ${fd}` });
}

/** The object that an fd refers to. */
export interface FdStat {
  readonly kind: "file" | "null device" | "pipe" | "socket" | "terminal" | "other";
  /** Size of a file, in bytes. */
  readonly size: number;
  /** Device and inode: equal for two fds of one file, pipe, socket or terminal. */
  readonly id: string;
}

/** `struct stat` on x86_64: its size in bytes, and the offsets of device, inode, mode, device number and size. */
const STAT_BYTES = 144;
const ST_DEV = 0;
const ST_INO = 8;
const ST_MODE = 24;
const ST_RDEV = 40;
const ST_SIZE = 48;

/** Kinds of files in the mode (inode(7)), and the number of /dev/null: major 1, minor 3 (null(4)). */
const S_IFMT = 0o170000;
const S_IFIFO = 0o010000;
const S_IFCHR = 0o020000;
const S_IFREG = 0o100000;
const S_IFSOCK = 0o140000;
const NULL_DEVICE = 0x103n;

/** TCGETS of ioctl_tty(2), which only a terminal answers, and room for the `struct termios`. */
const TCGETS = 0x5401n;
const TERMIOS_BYTES = 64;

/**
 * Returns the object that `fd` refers to.
 *
 * @throws LibcError EBADF when it is not open.
 */
export function fdStat(fd: number): FdStat {
  const stat = new Uint8Array(STAT_BYTES);
  checked(libc().fstat(fd, stat), { call: "fstat", action: `look at fd ${fd}` });
  const view = new DataView(stat.buffer);
  const number = (at: number) => view.getBigUint64(at, true);
  return {
    kind: kindOf(fd, {
      format: view.getUint32(ST_MODE, true) & S_IFMT,
      isNull: number(ST_RDEV) === NULL_DEVICE,
    }),
    size: Number(number(ST_SIZE)),
    id: `${number(ST_DEV)}:${number(ST_INO)}`,
  };
}

function kindOf(
  fd: number,
  { format, isNull }: { readonly format: number; readonly isNull: boolean },
): FdStat["kind"] {
  switch (format) {
    case S_IFREG:
      return "file";
    case S_IFIFO:
      return "pipe";
    case S_IFSOCK:
      return "socket";
    case S_IFCHR:
      if (isNull) return "null device";
      return libc().ioctl(fd, TCGETS, new Uint8Array(TERMIOS_BYTES)) === 0 ? "terminal" : "other";
    default:
      return "other";
  }
}

/** How `drainFd` reads. */
interface DrainOptions {
  /** The buffer for each read. 64 KiB suits a pipe; a pty fills about 4 KB of it. */
  readonly buffer: Uint8Array<ArrayBuffer>;
  /** Called with each read's bytes. They are a view of `buffer`, which the next read overwrites. */
  readonly onBytes: (bytes: Uint8Array<ArrayBuffer>) => void;
  /** The maximum number of reads in one call, so that a flood does not starve the event loop; by default 8. */
  readonly maxReads?: number;
}

/**
 * Reads all available bytes of a nonblocking fd. Returns "again" if it is empty, "end" at its end, and "more" if
 * `maxReads` were not enough.
 *
 * With one call for each poll, it reads 50 MB/s and more from a pty, and timers still fire on time.
 */
export function drainFd(fd: number, options: DrainOptions): "again" | "end" | "more" {
  const { buffer, onBytes, maxReads = 8 } = options;
  for (let reads = 0; reads < maxReads; reads++) {
    const count = readFd(fd, buffer);
    if (typeof count !== "number") return count;
    onBytes(buffer.subarray(0, count));
  }
  return "more";
}
