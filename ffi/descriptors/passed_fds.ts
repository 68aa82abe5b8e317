import { type Blocked, closeFd } from "./fd.ts";
import { ERRNO, lastErrno, LibcError } from "../errno.ts";
import { libc } from "../libc.ts";

/** SOL_SOCKET and SCM_RIGHTS of a control message that carries fds (unix(7)). */
const SOL_SOCKET = 1;
const SCM_RIGHTS = 1;

/** Flags of sendmsg(2) and recvmsg(2). */
const MSG_DONTWAIT = 0x40;
const MSG_NOSIGNAL = 0x4000;
const MSG_CTRUNC = 0x8;
const MSG_CMSG_CLOEXEC = 0x4000_0000;

/**
 * Offsets in the buffer of a call: the `struct msghdr`, the `struct iovec` of the data, the control message with its
 * header, and then the data.
 */
const MSGHDR_BYTES = 56;
const MSG_IOV = 16;
const MSG_IOVLEN = 24;
const MSG_CONTROL = 32;
const MSG_CONTROLLEN = 40;
const MSG_FLAGS = 48;
const IOVEC = MSGHDR_BYTES;
const IOVEC_BYTES = 16;
const CONTROL = IOVEC + IOVEC_BYTES;
const CMSGHDR_BYTES = 16;
const FD_BYTES = 4;

/** How often a call with an unexpected error is repeated: see `REPEATS` in `fd.ts`. */
const REPEATS = 2;

/** The maximum number of fds in a message. This program never sends more. */
const MOST_FDS = 8;
const CONTROL_BYTES = CMSGHDR_BYTES + MOST_FDS * FD_BYTES;
const DATA = CONTROL + CONTROL_BYTES;

/**
 * Sends bytes and duplicates of fds to a stream socket. Returns the number of accepted bytes, which include all fds, or
 * "again" or "end" if nothing was sent.
 *
 * @throws RangeError for no bytes or too many fds
 * @throws LibcError for any error but EAGAIN, EINTR, EPIPE and ECONNRESET
 */
export function sendFds(
  fd: number,
  { bytes, fds }: { readonly bytes: Uint8Array; readonly fds: readonly number[] },
): number | Blocked {
  if (bytes.length === 0 || fds.length > MOST_FDS) {
    throw new RangeError(`Cannot send ${fds.length} fds with ${bytes.length} bytes`);
  }
  const { buffer, view } = messageOf(bytes.length);
  buffer.set(bytes, DATA);
  const length = CMSGHDR_BYTES + fds.length * FD_BYTES;
  view.setBigUint64(CONTROL, BigInt(length), true);
  view.setInt32(CONTROL + 8, SOL_SOCKET, true);
  view.setInt32(CONTROL + 12, SCM_RIGHTS, true);
  for (const [index, passed] of fds.entries()) {
    view.setInt32(CONTROL + CMSGHDR_BYTES + index * FD_BYTES, passed, true);
  }
  // CMSG_SPACE: a message is followed by the next one at a multiple of eight.
  view.setBigUint64(MSG_CONTROLLEN, BigInt(Math.ceil(length / 8) * 8), true);
  for (let unexpected = 0;;) {
    const count = Number(libc().sendmsg(fd, buffer, MSG_DONTWAIT | MSG_NOSIGNAL));
    if (count >= 0) return count;
    const errno = lastErrno();
    if (errno === ERRNO.EAGAIN) return "again";
    if (errno === ERRNO.EPIPE || errno === ERRNO.ECONNRESET) return "end";
    if (errno !== ERRNO.EINTR && unexpected++ >= REPEATS) {
      throw new LibcError(errno, { call: "sendmsg", action: `write to fd ${fd}` });
    }
  }
}

/** The result of one receive call. */
export interface Received {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The received fds. The caller has to close them. No child inherits them. */
  readonly fds: readonly number[];
  /** True if there were more than `MOST_FDS`. The kernel closed the others. */
  readonly isCut: boolean;
}

/**
 * Reads at most `most` bytes from a nonblocking stream socket, and the fds that came with them.
 *
 * @throws LibcError for any error but EAGAIN, EINTR and ECONNRESET
 */
export function receiveFds(fd: number, { most }: { readonly most: number }): Received | Blocked {
  const { buffer, view } = messageOf(most);
  for (let unexpected = 0;;) {
    view.setBigUint64(MSG_CONTROLLEN, BigInt(CONTROL_BYTES), true);
    const count = Number(libc().recvmsg(fd, buffer, MSG_DONTWAIT | MSG_CMSG_CLOEXEC));
    if (count === -1) {
      const errno = lastErrno();
      if (errno === ERRNO.EAGAIN) return "again";
      if (errno === ERRNO.ECONNRESET) return "end";
      if (errno === ERRNO.EINTR || unexpected++ < REPEATS) continue;
      throw new LibcError(errno, { call: "recvmsg", action: `read fd ${fd}` });
    }
    const fds = fdsIn(view);
    if (count === 0) {
      for (const passed of fds) closeFd(passed);
      return "end";
    }
    return {
      bytes: buffer.slice(DATA, DATA + count),
      fds,
      isCut: (view.getInt32(MSG_FLAGS, true) & MSG_CTRUNC) !== 0,
    };
  }
}

/** Reads the fds of the control message. */
function fdsIn(view: DataView): readonly number[] {
  const there = Number(view.getBigUint64(MSG_CONTROLLEN, true));
  if (there < CMSGHDR_BYTES) return [];
  const isOfFds = view.getInt32(CONTROL + 8, true) === SOL_SOCKET &&
    view.getInt32(CONTROL + 12, true) === SCM_RIGHTS;
  if (!isOfFds) return [];
  const length = Math.min(Number(view.getBigUint64(CONTROL, true)), there) - CMSGHDR_BYTES;
  return Array.from(
    { length: Math.floor(length / FD_BYTES) },
    (_, index) => view.getInt32(CONTROL + CMSGHDR_BYTES + index * FD_BYTES, true),
  );
}

/**
 * Builds a `struct msghdr` with the structures that it points to in one buffer. The buffer is an explicit ArrayBuffer,
 * because V8 can move a small typed array.
 */
function messageOf(dataBytes: number) {
  const buffer = new Uint8Array(new ArrayBuffer(DATA + dataBytes));
  const view = new DataView(buffer.buffer);
  const base = Deno.UnsafePointer.value(Deno.UnsafePointer.of(buffer));
  const at = (offset: number) => base + BigInt(offset);
  view.setBigUint64(MSG_IOV, at(IOVEC), true);
  view.setBigUint64(MSG_IOVLEN, 1n, true);
  view.setBigUint64(MSG_CONTROL, at(CONTROL), true);
  view.setBigUint64(IOVEC, at(DATA), true);
  view.setBigUint64(IOVEC + 8, BigInt(dataBytes), true);
  return { buffer, view };
}
