import { checked, ERRNO, LibcError } from "../errno.ts";
import { closeFd, readFd, writeFd } from "./fd.ts";
import { libc } from "../libc.ts";
import { waitOnSharedThread } from "./shared_wait.ts";

/** The events of one fd that a wait looks for. A hang-up is always reported. */
export interface Interest {
  readonly fd: number;
  readonly read?: boolean;
  readonly write?: boolean;
}

/** The events of one fd that a wait found. */
export interface Ready {
  readonly fd: number;
  readonly readable: boolean;
  readonly writable: boolean;
  /** The other side is closed. Bytes that it wrote before may still be unread. */
  readonly hangup: boolean;
}

const POLLIN = 0x001;
const POLLOUT = 0x004;
const POLLERR = 0x008;
const POLLHUP = 0x010;
const POLLNVAL = 0x020;

const EFD_NONBLOCK = 0o4000;
const EFD_CLOEXEC = 0o2000000;

/** Size of `struct pollfd`: i32 fd, i16 events, i16 revents. */
const POLLFD_BYTES = 8;
const LONGEST_TIMEOUT_MS = 0x7fffffff;

/**
 * The maximum number of waits with a thread of their own, which return a little sooner than shared ones. Deno has 32
 * threads for all blocking calls. If waits used all of them, other calls such as reads of files would stop.
 */
const MOST_THREADS = 8;

/** The number of waits with a thread of their own. */
let threads = 0;

/**
 * Waits for any of several fds, in one poll(2) on a thread of Deno's blocking pool. If there are many waits, further
 * ones share one thread.
 *
 * A pending wait keeps the process alive, and uses its fds until it returns. So the order at the end is: call `wake()`,
 * await the pending wait, dispose the poller, and close an fd only when no pending wait names it.
 */
export class Poller implements Disposable {
  readonly #wakeFd: number;
  #waiting = false;
  #disposed = false;

  /** @throws LibcError when no eventfd can be created. */
  constructor() {
    this.#wakeFd = checked(libc().eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), {
      call: "eventfd",
      action: "make a wake-up event",
    });
  }

  /**
   * Resolves with the ready fds, in the given order; with none of them after `timeoutMs`, or after `wake()`.
   *
   * `timeoutMs` is rounded up; 0 does not wait, -1 waits forever. A hang-up is reported at every wait until the fd is
   * left out. A poll that a signal interrupts counts as one that found nothing.
   *
   * @throws LibcError EBADF when an fd is not open.
   * @throws Error when another wait is pending, or the poller is disposed.
   */
  async wait(interests: readonly Interest[], timeoutMs: number): Promise<readonly Ready[]> {
    if (this.#disposed) throw new Error("Cannot poll: the poller is disposed");
    if (this.#waiting) throw new Error("Cannot poll: another wait is pending");
    const polled = [{ fd: this.#wakeFd, read: true }, ...interests];
    const table = encode(polled);
    this.#waiting = true;
    try {
      const count = threads < MOST_THREADS
        ? await waitAlone(table, polled.length, timeoutMs)
        : await waitShared(polled, table, timeoutMs);
      if (count <= 0) return [];
      const ready = decode(polled, table);
      if (ready[0]?.fd !== this.#wakeFd) return ready;
      readFd(this.#wakeFd, new Uint8Array(8));
      return ready.slice(1);
    } finally {
      this.#waiting = false;
      if (this.#disposed) closeFd(this.#wakeFd);
    }
  }

  /** Makes the pending wait, or else the next one, return immediately. Several calls count as one. */
  wake(): void {
    if (this.#disposed) return;
    writeFd(this.#wakeFd, new Uint8Array(BigUint64Array.of(1n).buffer));
  }

  /** Ends the poller. A pending wait is woken, and releases the last fd when it returns. */
  [Symbol.dispose](): void {
    if (this.#disposed) return;
    if (this.#waiting) this.wake();
    this.#disposed = true;
    if (!this.#waiting) closeFd(this.#wakeFd);
  }
}

async function waitAlone(
  table: DataView<ArrayBuffer>,
  length: number,
  timeoutMs: number,
): Promise<number> {
  threads++;
  try {
    return await libc().poll(table, BigInt(length), clampTimeout(timeoutMs));
  } finally {
    threads--;
  }
}

/** Waits on the shared thread until an fd is ready, and then polls without waiting. */
async function waitShared(
  polled: readonly Interest[],
  table: DataView<ArrayBuffer>,
  timeoutMs: number,
): Promise<number> {
  const look = () => libc().poll_at_once(table, BigInt(polled.length), 0);
  const found = look();
  if (found !== 0 || timeoutMs === 0) return found;
  const events = new Map<number, number>();
  for (const interest of polled) {
    events.set(interest.fd, (events.get(interest.fd) ?? 0) | eventsOf(interest));
  }
  await waitOnSharedThread(events, timeoutMs < 0 ? Infinity : timeoutMs);
  return look();
}

/** Returns true if `fd` now accepts a byte or more, or has an error. */
export function isWritable(fd: number): boolean {
  const polled = [{ fd, write: true }];
  const table = encode(polled);
  return libc().poll_at_once(table, 1n, 0) > 0 && decode(polled, table).length > 0;
}

function encode(interests: readonly Interest[]): DataView<ArrayBuffer> {
  const table = new DataView(new ArrayBuffer(interests.length * POLLFD_BYTES));
  for (const [index, interest] of interests.entries()) {
    const offset = index * POLLFD_BYTES;
    table.setInt32(offset, interest.fd, true);
    table.setInt16(offset + 4, eventsOf(interest), true);
  }
  return table;
}

function eventsOf({ read = false, write = false }: Interest): number {
  return (read ? POLLIN : 0) | (write ? POLLOUT : 0);
}

function decode(interests: readonly Interest[], table: DataView<ArrayBuffer>): readonly Ready[] {
  return interests.flatMap(({ fd }, index) => {
    const events = table.getInt16(index * POLLFD_BYTES + 6, true);
    if (events === 0) return [];
    if ((events & POLLNVAL) !== 0) {
      throw new LibcError(ERRNO.EBADF, { call: "poll", action: `wait for fd ${fd}` });
    }
    return [{
      fd,
      readable: (events & POLLIN) !== 0,
      writable: (events & POLLOUT) !== 0,
      hangup: (events & (POLLHUP | POLLERR)) !== 0,
    }];
  });
}

function clampTimeout(timeoutMs: number): number {
  return timeoutMs < 0 ? -1 : Math.min(Math.ceil(timeoutMs), LONGEST_TIMEOUT_MS);
}
