import { cString } from "../c_string.ts";
import { checked, ERRNO, lastErrno } from "../errno.ts";
import { closeFd } from "./fd.ts";
import { libc } from "../libc.ts";

const AF_UNIX = 1;
const SOCK_STREAM = 1;
const SOCK_NONBLOCK = 0o4000;
const SOCK_CLOEXEC = 0o2000000;

/** The size of the `sa_family_t` before the path in a `struct sockaddr_un` (unix(7)). */
const FAMILY_BYTES = 2;

/** The maximum length of a socket's path in bytes, without its NUL (unix(7)). */
export const MAX_SOCKET_PATH = 107;

/**
 * Connects to the stream socket at `path`, without waiting. The fd is nonblocking, and no child inherits it.
 *
 * @throws RangeError when the path is longer than `MAX_SOCKET_PATH`
 * @throws LibcError ENOENT and ECONNREFUSED if no process listens there, EAGAIN if the backlog is full, and other
 * errors of connect(2).
 */
export function connectUnix(path: string): number {
  const address = addressOf(path);
  return withSocket((fd) => {
    checked(libc().connect(fd, address, address.length), {
      call: "connect",
      action: "connect to the socket",
      path,
    });
  });
}

/**
 * Listens on a new stream socket at `path`. The fd is nonblocking, and no child inherits it.
 *
 * @param options.backlog the maximum number of connections that wait to be accepted
 * @throws RangeError when the path is longer than `MAX_SOCKET_PATH`
 * @throws LibcError EADDRINUSE when the path already exists, and other errors of bind(2).
 */
export function listenUnix(path: string, { backlog }: { readonly backlog: number }): number {
  const address = addressOf(path);
  return withSocket((fd) => {
    const { bind, listen } = libc();
    checked(bind(fd, address, address.length), { call: "bind", action: "make the socket", path });
    checked(listen(fd, backlog), { call: "listen", action: "listen on the socket", path });
  });
}

/** No connection waits, or it was closed before it was accepted. */
const NO_CONNECTION: readonly number[] = [ERRNO.EAGAIN, ERRNO.EINTR, ERRNO.ECONNABORTED];

/**
 * Accepts a connection; undefined if none waits. The fd is nonblocking, and no child inherits it.
 *
 * @throws LibcError EMFILE and ENFILE if the limit of open files is reached, and other errors of accept(2).
 */
export function acceptUnix(listener: number): number | undefined {
  const fd = libc().accept4(listener, null, null, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd === -1 && NO_CONNECTION.includes(lastErrno())) return undefined;
  return checked(fd, { call: "accept4", action: "take a connection" });
}

/** FIONBIO of ioctl(2). */
const FIONBIO = 0x5421n;

/** Makes a socket nonblocking that another program created. */
export function setNonblocking(fd: number): void {
  checked(libc().ioctl(fd, FIONBIO, Int32Array.of(1)), {
    call: "ioctl",
    action: "make a socket nonblocking",
  });
}

/** SO_ACCEPTCONN and SO_DOMAIN of getsockopt(2). */
const SO_ACCEPTCONN = 30;
const SO_DOMAIN = 39;

/** Returns true for a listening Unix socket; false for other and closed fds. */
export function isUnixListener(fd: number): boolean {
  const optionOf = (option: number): number | undefined => {
    const value = new Int32Array(1);
    const length = Uint32Array.of(value.byteLength);
    return libc().getsockopt(fd, SOL_SOCKET, option, value, length) === 0 ? value[0] : undefined;
  };
  return optionOf(SO_DOMAIN) === AF_UNIX && optionOf(SO_ACCEPTCONN) === 1;
}

/** The process at the other end of a connection, at the time when it connected or listened. */
export interface Peer {
  readonly pid: number;
  readonly uid: number;
}

/** SOL_SOCKET and SO_PEERCRED of getsockopt(2), and the size of the `struct ucred` (unix(7)): pid, uid and gid. */
const SOL_SOCKET = 1;
const SO_PEERCRED = 17;
const UCRED_INTS = 3;

/** Returns the process at the other end. A process of another pid namespace has pid 0. */
export function peerOf(fd: number): Peer {
  const ucred = new Int32Array(UCRED_INTS);
  const length = Uint32Array.of(ucred.byteLength);
  checked(libc().getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ucred, length), {
    call: "getsockopt",
    action: "ask who is at the other end",
  });
  const [pid = 0, uid = 0] = ucred;
  // A uid_t is unsigned.
  return { pid, uid: uid >>> 0 };
}

/** A `struct sockaddr_un`. */
function addressOf(path: string): Uint8Array<ArrayBuffer> {
  const name = cString(path);
  if (name.length > MAX_SOCKET_PATH + 1) {
    throw new RangeError(
      `Cannot use the socket "${path}": its path is longer than ${MAX_SOCKET_PATH} bytes`,
    );
  }
  const address = new Uint8Array(FAMILY_BYTES + name.length);
  new DataView(address.buffer).setUint16(0, AF_UNIX, true);
  address.set(name, FAMILY_BYTES);
  return address;
}

/** Creates a socket, and closes it if `use` throws. */
function withSocket(use: (fd: number) => void): number {
  const fd = checked(
    libc().socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0),
    { call: "socket", action: "make a socket" },
  );
  try {
    use(fd);
    return fd;
  } catch (error) {
    closeFd(fd);
    throw error;
  }
}
