import { cString } from "../c_string.ts";
import { checked, ERRNO, lastErrno } from "../errno.ts";
import { closeFd } from "./fd.ts";
import { libc } from "../libc.ts";
import { Poller } from "./poll.ts";

const O_RDONLY = 0;
const O_NOCTTY = 0o400;
const O_NONBLOCK = 0o4000;
const O_CLOEXEC = 0o2000000;

/** Nothing has come yet, whatever poll(2) said, or a signal did. */
const AGAIN: readonly number[] = [ERRNO.EAGAIN, ERRNO.EINTR];

/**
 * Reads whatever a person has named, a FIFO, a terminal or `/dev/stdin` too, to its end, however long that takes to
 * come. Meanwhile the program hears signals, and timers ring.
 *
 * @param options.limit of more bytes than these only the first are read
 * @throws LibcError as open(2) and read(2) say.
 */
export async function readToEnd(
  path: string,
  { limit }: { readonly limit: number },
): Promise<Uint8Array<ArrayBuffer>> {
  using stack = new DisposableStack();
  const flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  const fd = checked(libc().open(cString(path), flags), { call: "open", action: "open", path });
  stack.defer(() => closeFd(fd));
  const poller = stack.use(new Poller());
  let bytes = new Uint8Array(64 * 1024);
  for (let length = 0;;) {
    // A FIFO that nobody has opened for writing yet looks as if it had ended, unless it is waited for.
    await poller.wait([{ fd, read: true }], -1);
    const free = bytes.subarray(length);
    const count = Number(libc().read(fd, free, BigInt(free.length)));
    if (count === -1 && AGAIN.includes(lastErrno())) continue;
    length += checked(count, { call: "read", action: "read", path });
    if (count === 0 || length > limit) return bytes.subarray(0, length);
    if (length < bytes.length) continue;
    const larger = new Uint8Array(2 * bytes.length);
    larger.set(bytes);
    bytes = larger;
  }
}
