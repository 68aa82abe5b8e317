import { checked, ERRNO, lastErrno, LibcError } from "../errno.ts";
import { closeFd } from "./fd.ts";
import { libc } from "../libc.ts";

const EPOLL_CLOEXEC = 0o2000000;
const EPOLL_CTL_ADD = 1;
const EPOLL_CTL_DEL = 2;
const EPOLLIN = 0x001;

/** Size of `struct epoll_event`, which is packed on x86_64: u32 events, u64 data. */
const EVENT_BYTES = 12;
const MOST_EVENTS = 64;
const LONGEST_TIMEOUT_MS = 0x7fffffff;

/** A pending wait. */
interface Waiter {
  /** When the wait times out, on the clock of `performance.now()`. */
  readonly until: number;
  readonly leave: () => void;
  timer?: ReturnType<typeof setTimeout>;
}

/** Pending waits by their epoll fd. */
const waiters = new Map<number, Waiter>();

/** The epoll fd that contains the epoll fds of all pending waits. The first wait opens it. */
let sharedSet: number | undefined;
let isWaiting = false;

/**
 * Waits until one of several fds is ready or the time has expired. All calls share one thread (epoll(7)).
 *
 * @param fds events of poll(2) by fd. Fds that are always ready, such as files, are ignored
 * @param timeoutMs 0 or more; Infinity for no limit
 * @throws LibcError if the limit of open files is reached
 */
export async function waitOnSharedThread(
  fds: ReadonlyMap<number, number>,
  timeoutMs: number,
): Promise<void> {
  sharedSet ??= newSet();
  const all = sharedSet;
  const set = newSet();
  try {
    for (const [fd, events] of fds) add(set, { fd, events });
    add(all, { fd: set, events: EPOLLIN });
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiter: Waiter = {
      until: performance.now() + timeoutMs,
      leave: () => {
        clearTimeout(waiter.timer);
        waiters.delete(set);
        remove(all, set);
        resolve();
      },
    };
    waiters.set(set, waiter);
    if (!isWaiting) void serveWaiters(all);
    else if (timeoutMs < LONGEST_TIMEOUT_MS) {
      // The epoll_wait that is running does not know this timeout. The next one will.
      waiter.timer = setTimeout(waiter.leave, Math.ceil(timeoutMs));
    }
    await promise;
  } finally {
    closeFd(set);
  }
}

/** Repeats epoll_wait and ends the waits that are ready or have timed out, until none is pending. */
async function serveWaiters(all: number): Promise<void> {
  isWaiting = true;
  const events = new DataView(new ArrayBuffer(EVENT_BYTES * MOST_EVENTS));
  while (waiters.size > 0) {
    for (const waiter of waiters.values()) clearTimeout(waiter.timer);
    const until = Math.min(...waiters.values().map((waiter) => waiter.until));
    const restMs = Math.max(0, Math.ceil(until - performance.now()));
    const timeoutMs = restMs > LONGEST_TIMEOUT_MS ? -1 : restMs;
    // A signal ends epoll_wait with -1, which counts as no event.
    const count = await libc().epoll_wait(all, events, MOST_EVENTS, timeoutMs);
    for (let at = 0; at < count; at++) {
      waiters.get(events.getInt32(at * EVENT_BYTES + 4, true))?.leave();
    }
    const now = performance.now();
    for (const waiter of [...waiters.values()]) if (waiter.until <= now) waiter.leave();
  }
  isWaiting = false;
}

function newSet(): number {
  return checked(libc().epoll_create1(EPOLL_CLOEXEC), {
    call: "epoll_create1",
    action: "wait for several fds",
  });
}

function add(set: number, { fd, events }: { readonly fd: number; readonly events: number }): void {
  const event = new DataView(new ArrayBuffer(EVENT_BYTES));
  event.setUint32(0, events, true);
  event.setInt32(4, fd, true);
  if (libc().epoll_ctl(set, EPOLL_CTL_ADD, fd, event) === 0) return;
  const errno = lastErrno();
  if (errno === ERRNO.EPERM) return;
  throw new LibcError(errno, { call: "epoll_ctl", action: `wait for fd ${fd}` });
}

function remove(set: number, fd: number): void {
  libc().epoll_ctl(set, EPOLL_CTL_DEL, fd, new DataView(new ArrayBuffer(EVENT_BYTES)));
}
