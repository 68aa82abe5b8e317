import { checked, ERRNO, lastErrno } from "../errno.ts";
import { libc } from "../libc.ts";
import { readProcFile } from "./proc.ts";
import { writeFd } from "../descriptors/fd.ts";
import { Pipe } from "../descriptors/pipe.ts";
import { Poller } from "../descriptors/poll.ts";

/** O_CLOEXEC in proc(5). All fds that this program opens have it, and inherited fds never have it. */
const O_CLOEXEC = 0o2000000;
const LINE_END = 0x0a;

/** Returns true if an fd was open when this program started. */
export function isInherited(fd: number): boolean {
  try {
    const info = new TextDecoder().decode(readProcFile(`/proc/self/fdinfo/${fd}`));
    return (parseInt(/^flags:\s*(\d+)$/mu.exec(info)?.[1] ?? "", 8) & O_CLOEXEC) === 0;
  } catch {
    return false;
  }
}

/**
 * Reads from an inherited file, pipe or socket up to a line feed or the end.
 *
 * @param options.limit the maximum number of bytes that are read
 * @returns undefined if that takes longer than `patienceMs`
 * @throws LibcError for the errors of read(2)
 */
export async function readInheritedLine(
  fd: number,
  { limit, patienceMs }: { readonly limit: number; readonly patienceMs: number },
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  using poller = new Poller();
  const until = performance.now() + patienceMs;
  const bytes = new Uint8Array(limit);
  let length = 0;
  while (length < limit) {
    const [ready] = await poller.wait([{ fd, read: true }], Math.max(0, until - performance.now()));
    if (ready === undefined && performance.now() >= until) return undefined;
    if (ready === undefined) continue;
    const free = bytes.subarray(length);
    const count = Number(libc().read(fd, free, BigInt(free.length)));
    if (count === -1 && (lastErrno() === ERRNO.EAGAIN || lastErrno() === ERRNO.EINTR)) continue;
    checked(count, { call: "read", action: `read fd ${fd}` });
    if (count === 0) break;
    length += count;
    const end = bytes.subarray(0, length).indexOf(LINE_END);
    if (end !== -1) return bytes.subarray(0, end);
  }
  return bytes.subarray(0, length);
}

/** Returns a pipe that contains a few bytes and then ends. */
export function filledPipe(bytes: Uint8Array<ArrayBuffer>): Pipe {
  const pipe = new Pipe();
  writeFd(pipe.writeFd, bytes);
  pipe.closeWriteEnd();
  return pipe;
}

/** Replaces an inherited fd by a pipe with these bytes. Programs that this one starts inherit it. */
export function replaceWithPipe(fd: number, bytes: Uint8Array<ArrayBuffer>): void {
  using pipe = filledPipe(bytes);
  checked(libc().dup2(pipe.readFd, fd), { call: "dup2", action: `fill fd ${fd}` });
}
