import { cString } from "../c_string.ts";
import { checked } from "../errno.ts";
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
 * @throws LibcError ENOENT and ECONNREFUSED as long as nobody listens there, and whatever else connect(2) says.
 */
export function connectUnix(path: string): number {
  const name = cString(path);
  if (name.length > MAX_SOCKET_PATH + 1) {
    throw new RangeError(`Cannot connect to "${path}": the path is longer than a socket's may be`);
  }
  const address = new Uint8Array(FAMILY_BYTES + name.length);
  new DataView(address.buffer).setUint16(0, AF_UNIX, true);
  address.set(name, FAMILY_BYTES);
  const { socket, connect } = libc();
  const fd = checked(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), {
    call: "socket",
    action: "make a socket",
  });
  try {
    checked(connect(fd, address, address.length), {
      call: "connect",
      action: "connect to the socket",
      path,
    });
    return fd;
  } catch (error) {
    closeFd(fd);
    throw error;
  }
}
