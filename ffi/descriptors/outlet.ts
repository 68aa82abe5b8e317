import { cString } from "../c_string.ts";
import { LibcError } from "../errno.ts";
import { type Blocked, closeFd, fdStat, sendFd, writeFd } from "./fd.ts";
import { libc } from "../libc.ts";
import { isWritable } from "./poll.ts";
import { WriteQueue } from "./write_queue.ts";

const O_WRONLY = 1;
const O_NOCTTY = 0o400;
const O_NONBLOCK = 0o4000;
const O_CLOEXEC = 0o2000000;

/** The minimum number of bytes for which a writable pipe has room (pipe(7)). */
const PIPE_BUF = 4096;

/** Why an outlet accepts no more text: its reader is closed, or the error of write(2). */
export type OutletEnd = "unread" | LibcError;

/**
 * Writes to an fd without blocking, because a full pipe, or a terminal that was stopped with Ctrl-S, must not stop this
 * program. Buffers all text that the fd does not accept immediately, without a limit.
 *
 * O_NONBLOCK belongs to the open file, which this program shares with its caller, so a pipe or terminal is opened
 * again. If that is forbidden, for example after a change of user, the outlet writes in small parts while poll(2)
 * reports room. Then a write blocks only if another program fills the pipe at the same moment, or if the window of the
 * terminal hangs.
 */
export class Outlet implements Disposable {
  /** Called once, when the outlet accepts no more text. */
  onEnd: (() => void) | undefined;
  /** The fd to poll for writing while bytes are pending. */
  readonly fd: number;
  readonly #write: typeof writeFd;
  readonly #wasReopened: boolean;
  readonly #encoder = new TextEncoder();
  #queue = new WriteQueue();
  /** Buffered text that is not in the queue yet, and whether `gather()` was called. */
  #text = "";
  #isGathering = false;
  #end: OutletEnd | undefined;
  #disposed = false;
  #isPaused = false;

  /**
   * @param fd an open descriptor of this process
   * @throws LibcError EBADF when it is not open
   */
  constructor(fd: number) {
    const { kind } = fdStat(fd);
    const reopened = kind === "pipe" || kind === "terminal" ? reopen(fd) : undefined;
    this.#wasReopened = reopened !== undefined;
    this.fd = reopened ?? fd;
    if (kind === "socket") this.#write = sendFd;
    else if (reopened === undefined && kind !== "file") this.#write = writeIfWritable;
    else this.#write = writeFd;
  }

  /** The number of buffered bytes, or more; 0 while paused. */
  get pending(): number {
    return this.#isPaused ? 0 : this.#queue.pending + this.#text.length;
  }

  /** Why the outlet accepts no more text; undefined before that. */
  get end(): OutletEnd | undefined {
    return this.#end;
  }

  /** Writes a text after the buffered text, and buffers the part that the fd does not accept. */
  write(text: string): void {
    if (this.#end !== undefined || this.#disposed) return;
    this.#text += text;
    if (!this.#isGathering) this.flush();
  }

  /** Buffers all text until the next `flush()`, because one write of many texts is faster. */
  gather(): void {
    this.#isGathering = true;
  }

  /** Buffers all text until `resume()`, also after `flush()`. */
  pause(): void {
    this.#isPaused = true;
  }

  /** Ends `pause()` and writes the buffered text. */
  resume(): void {
    this.#isPaused = false;
    this.flush();
  }

  /** Writes the part of the buffered text that the fd accepts. */
  flush(): void {
    this.#isGathering = false;
    if (this.#isPaused) return;
    if (this.#text !== "") {
      this.#queue.push(this.#encoder.encode(this.#text));
      this.#text = "";
    }
    if (this.#queue.pending === 0) return;
    try {
      if (this.#queue.flush(this.fd, this.#write) === "end") this.#finish("unread");
    } catch (error) {
      if (!(error instanceof LibcError)) throw error;
      this.#finish(error);
    }
  }

  /** Drops all text from now on, without a call of `onEnd`. */
  abandon(): void {
    this.onEnd = undefined;
    if (this.#end === undefined) this.#finish("unread");
  }

  /** Drops the buffered text. */
  drop(): void {
    this.#text = "";
    this.#queue = new WriteQueue();
  }

  /** Drops the buffered text, and accepts no more. */
  [Symbol.dispose](): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.drop();
    if (this.#wasReopened) closeFd(this.fd);
  }

  #finish(end: OutletEnd): void {
    this.drop();
    this.#end = end;
    this.onEnd?.();
  }
}

/** Opens the same pipe or terminal again, as a separate open file; undefined if that is forbidden. */
function reopen(fd: number): number | undefined {
  const path = cString(`/proc/self/fd/${fd}`);
  const opened = libc().open(path, O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  return opened === -1 ? undefined : opened;
}

function writeIfWritable(fd: number, bytes: Uint8Array<ArrayBuffer>): number | Blocked {
  return isWritable(fd) ? writeFd(fd, bytes.subarray(0, PIPE_BUF)) : "again";
}
