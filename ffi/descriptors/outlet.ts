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

/** A pipe that can be written to at all has room for so many bytes: PIPE_BUF of pipe(7). */
const PIPE_BUF = 4096;

/** Why an outlet takes nothing any more: its reader is gone, or what write(2) says is wrong with it. */
export type OutletEnd = "unread" | LibcError;

/**
 * What an fd is open on, written to without ever waiting for whoever reads it: a pipe that nobody empties, or a
 * terminal that somebody has stopped with Ctrl-S, must not stop this program. What it does not take at once is
 * kept, however much that is.
 *
 * O_NONBLOCK belongs to the open file, which this program shares with its caller, so a pipe or terminal is opened
 * anew. Where that is forbidden, as after a change of user, it is written to in small parts while poll(2) says that
 * it has room: that waits only for a pipe that another program fills just then, or for a terminal whose window hangs.
 */
export class Outlet implements Disposable {
  /** Called once, when it takes nothing any more. */
  onEnd: (() => void) | undefined;
  /** The fd to be polled for writing while bytes are pending. */
  readonly fd: number;
  readonly #write: typeof writeFd;
  readonly #opened: boolean;
  readonly #encoder = new TextEncoder();
  #queue = new WriteQueue();
  /** What has been kept and is in no queue yet, and whether more is to follow first. */
  #text = "";
  #gathers = false;
  #end: OutletEnd | undefined;
  #disposed = false;
  #held = false;

  /**
   * @param fd of this process
   * @throws LibcError EBADF when it is not open
   */
  constructor(fd: number) {
    const { kind } = fdStat(fd);
    const anew = kind === "pipe" || kind === "terminal" ? openAnew(fd) : undefined;
    this.#opened = anew !== undefined;
    this.fd = anew ?? fd;
    if (kind === "socket") this.#write = sendFd;
    else if (anew === undefined && kind !== "file") this.#write = writeIfWritable;
    else this.#write = writeFd;
  }

  /** How many bytes at least have not been taken yet, and could be. */
  get pending(): number {
    return this.#held ? 0 : this.#queue.pending + this.#text.length;
  }

  /** Why it takes nothing any more; undefined as long as it does. */
  get end(): OutletEnd | undefined {
    return this.#end;
  }

  /** Writes what is taken at once, behind what has been kept, and keeps the rest. */
  write(text: string): void {
    if (this.#end !== undefined || this.#disposed) return;
    this.#text += text;
    if (!this.#gathers) this.flush();
  }

  /** Keeps what comes until it is flushed: many texts are written faster together. */
  gather(): void {
    this.#gathers = true;
  }

  /** Keeps everything, until it is released. */
  pause(): void {
    this.#held = true;
  }

  /** Writes what has been kept, and from now on what comes. */
  resume(): void {
    this.#held = false;
    this.flush();
  }

  /** Writes what has been kept, as far as it is taken now. */
  flush(): void {
    this.#gathers = false;
    if (this.#held) return;
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

  /** Takes nothing any more, as if its reader had gone, of which nobody is told. */
  abandon(): void {
    this.onEnd = undefined;
    if (this.#end === undefined) this.#finish("unread");
  }

  /** Forgets what has been kept. */
  drop(): void {
    this.#text = "";
    this.#queue = new WriteQueue();
  }

  /** Forgets what has been kept, and takes nothing any more. */
  [Symbol.dispose](): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.drop();
    if (this.#opened) closeFd(this.fd);
  }

  #finish(end: OutletEnd): void {
    this.drop();
    this.#end = end;
    this.onEnd?.();
  }
}

/** The same pipe or terminal with a file of its own behind the fd, unless that is forbidden. */
function openAnew(fd: number): number | undefined {
  const path = cString(`/proc/self/fd/${fd}`);
  const opened = libc().open(path, O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  return opened === -1 ? undefined : opened;
}

function writeIfWritable(fd: number, bytes: Uint8Array<ArrayBuffer>): number | Blocked {
  return isWritable(fd) ? writeFd(fd, bytes.subarray(0, PIPE_BUF)) : "again";
}
