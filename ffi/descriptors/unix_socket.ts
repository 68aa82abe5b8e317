import { cString } from "../c_string.ts";
import { checked, ERRNO, lastErrno } from "../errno.ts";
import { closeFd } from "./fd.ts";
import { libc } from "../libc.ts";

const AF_UNIX = 1;
const SOCK_STREAM = 1;
const SOCK_NONBLOCK = 0o4000;
const SOCK_CLOEXEC = 0o2000000;

/** The `sa_family_t` in front of the path in a `struct sockaddr_un` (unix(7)). */
const FAMILY_BYTES = 2;

/** Most bytes that the path of a socket may have, without its NUL (unix(7)). */
export const MAX_SOCKET_PATH = 107;

/**
 * Connects to the stream socket at `path`, without waiting; the fd is nonblocking, and inherited by no child.
 *
 * @throws RangeError when the path is longer than `MAX_SOCKET_PATH`
 * @throws LibcError ENOENT and ECONNREFUSED as long as nobody listens there, EAGAIN when too many wait to be taken, and
 * whatever else connect(2) says.
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
 * Listens on a stream socket at `path`, where nothing may be yet; the fd is nonblocking, and inherited by no child.
 *
 * @param options.backlog how many may wait to be taken
 * @throws RangeError when the path is longer than `MAX_SOCKET_PATH`
 * @throws LibcError EADDRINUSE where anything has that path already, and whatever else bind(2) says.
 */
export function listenUnix(path: string, { backlog }: { readonly backlog: number }): number {
  const address = addressOf(path);
  return withSocket((fd) => {
    const { bind, listen } = libc();
    checked(bind(fd, address, address.length), { call: "bind", action: "make the socket", path });
    checked(listen(fd, backlog), { call: "listen", action: "listen on the socket", path });
  });
}

/** Nobody waits to be taken, or who did has gone. */
const NO_CONNECTION: readonly number[] = [ERRNO.EAGAIN, ERRNO.EINTR, ERRNO.ECONNABORTED];

/**
 * Takes a connection to a socket that is listened on; undefined when none waits. The fd is nonblocking, and inherited by
 * no child.
 *
 * @throws LibcError EMFILE and ENFILE when there are as many files open as there may be, and whatever else accept(2) says.
 */
export function acceptUnix(listener: number): number | undefined {
  const fd = libc().accept4(listener, null, null, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd === -1 && NO_CONNECTION.includes(lastErrno())) return undefined;
  return checked(fd, { call: "accept4", action: "take a connection" });
}

/** FIONBIO of ioctl(2). */
const FIONBIO = 0x5421n;

/** Has a socket that another program has made wait for nobody. */
export function setNonblocking(fd: number): void {
  checked(libc().ioctl(fd, FIONBIO, Int32Array.of(1)), {
    call: "ioctl",
    action: "have a socket wait for nobody",
  });
}

/** SO_ACCEPTCONN and SO_DOMAIN of getsockopt(2). */
const SO_ACCEPTCONN = 30;
const SO_DOMAIN = 39;

/** Whether an fd is a Unix socket that is listened on; one that is not open is none. */
export function isUnixListener(fd: number): boolean {
  const optionOf = (option: number): number | undefined => {
    const value = new Int32Array(1);
    const length = Uint32Array.of(value.byteLength);
    return libc().getsockopt(fd, SOL_SOCKET, option, value, length) === 0 ? value[0] : undefined;
  };
  return optionOf(SO_DOMAIN) === AF_UNIX && optionOf(SO_ACCEPTCONN) === 1;
}

/** Who is at the other end of a connection: the one who connected, or who listened, as it was then. */
export interface Peer {
  readonly pid: number;
  readonly uid: number;
}

/** SOL_SOCKET and SO_PEERCRED of getsockopt(2), and the size of the `struct ucred` (unix(7)): pid, uid and gid. */
const SOL_SOCKET = 1;
const SO_PEERCRED = 17;
const UCRED_INTS = 3;

/** Tells who is at the other end; a process of another pid namespace has pid 0. */
export function peerOf(fd: number): Peer {
  const ucred = new Int32Array(UCRED_INTS);
  const length = Uint32Array.of(ucred.byteLength);
  checked(libc().getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ucred, length), {
    call: "getsockopt",
    action: "ask who is at the other end",
  });
  const [pid = 0, uid = 0] = ucred;
  // A uid_t has no sign.
  return { pid, uid: uid >>> 0 };
}

/** A `struct sockaddr_un`. */
function addressOf(path: string): Uint8Array<ArrayBuffer> {
  const name = cString(path);
  if (name.length > MAX_SOCKET_PATH + 1) {
    throw new RangeError(`Cannot use the socket "${path}": its path is longer than one may be`);
  }
  const address = new Uint8Array(FAMILY_BYTES + name.length);
  new DataView(address.buffer).setUint16(0, AF_UNIX, true);
  address.set(name, FAMILY_BYTES);
  return address;
}

/** A new socket, which is closed again where it cannot be used. */
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
