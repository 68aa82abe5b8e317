import { cString } from "../c_string.ts";
import { checked, ERRNO, lastErrno } from "../errno.ts";
import { closeFd } from "./fd.ts";
import { libc } from "../libc.ts";
import { Poller } from "./poll.ts";

const O_RDONLY = 0;
const O_NOCTTY = 0o400;
const O_NONBLOCK = 0o4000;
const O_CLOEXEC = 0o2000000;

/** There is no data yet, although poll(2) reported some, or a signal interrupted the read. */
const AGAIN: readonly number[] = [ERRNO.EAGAIN, ERRNO.EINTR];

/**
 * Reads a path that a user named to its end: a file, a FIFO, a terminal or `/dev/stdin`. Waits without a time limit,
 * while signals and timers of the program work.
 *
 * @param options.limit the number of bytes after which reading stops; a few more may be returned
 * @throws LibcError for the errors of open(2) and read(2).
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
    // A read of a FIFO without a writer returns 0 like an end, so wait for data first.
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
