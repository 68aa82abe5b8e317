import { cString } from "./c_string.ts";
import { checked } from "./errno.ts";
import { closeFd, readFd } from "./fd.ts";
import { libc } from "./libc.ts";
import { Poller } from "./poll.ts";

const O_RDONLY = 0;
const O_NOCTTY = 0o400;
const O_NONBLOCK = 0o4000;
const O_CLOEXEC = 0o2000000;

/**
 * Reads a file of any kind to its end, however long a FIFO, pipe or terminal takes to get there; nothing blocks
 * meanwhile. A FIFO that nobody has opened for writing yet is waited for, too.
 *
 * Deno itself opens hardly anything below `/dev` and `/proc` for a program that lacks one of its permissions.
 *
 * @param limit after so many bytes it reads no further
 * @throws LibcError as open(2) and read(2) say.
 */
export async function readToEnd(path: string, limit: number): Promise<Uint8Array<ArrayBuffer>> {
  using stack = new DisposableStack();
  const flags = O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC;
  const fd = checked(libc().open(cString(path), flags), { call: "open", action: "open", path });
  stack.defer(() => closeFd(fd));
  const poller = stack.use(new Poller());
  let bytes = new Uint8Array(64 * 1024);
  let size = 0;
  while (size < limit) {
    await poller.wait([{ fd, read: true }], -1);
    const count = readFd(fd, bytes.subarray(size));
    if (count === "end") break;
    if (count === "again") continue;
    size += count;
    if (size < bytes.length) continue;
    const larger = new Uint8Array(2 * bytes.length);
    larger.set(bytes);
    bytes = larger;
  }
  return bytes.subarray(0, size);
}
