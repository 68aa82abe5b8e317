import { cString } from "../c_string.ts";
import { closeFd } from "./fd.ts";
import { checked } from "../errno.ts";
import { libc } from "../libc.ts";

const O_CLOEXEC = 0o2000000;

/** A pipe whose two ends no child inherits. */
export class Pipe implements Disposable {
  readonly readFd: number;
  readonly writeFd: number;
  readonly #open: Set<number>;

  /** @throws LibcError for the errors of pipe(2), such as EMFILE. */
  constructor() {
    const fds = new Int32Array(2);
    checked(libc().pipe2(fds, O_CLOEXEC), { call: "pipe2", action: "make a pipe" });
    [this.readFd = -1, this.writeFd = -1] = fds;
    this.#open = new Set(fds);
  }

  /** Closes the end that is read, once a child has it. */
  closeReadEnd(): void {
    this.#close(this.readFd);
  }

  /** Closes the end that is written to, after all bytes are written. */
  closeWriteEnd(): void {
    this.#close(this.writeFd);
  }

  /** Closes the ends that are still open; a second call does nothing. */
  [Symbol.dispose](): void {
    for (const fd of [...this.#open]) this.#close(fd);
  }

  #close(fd: number): void {
    if (this.#open.delete(fd)) closeFd(fd);
  }
}

const O_RDWR = 0o2;
const O_NONBLOCK = 0o4000;

/**
 * Makes a FIFO that only its owner can use (mode 0600).
 *
 * @throws LibcError EEXIST when the path already exists, and other errors of mkfifo(3).
 */
export function makeFifo(path: string): void {
  checked(libc().mkfifo(cString(path), 0o600), { call: "mkfifo", action: "make the FIFO", path });
}

/**
 * Opens a nonblocking FIFO to read lines from it. No child inherits it.
 *
 * It is also opened for writing, so that it never reports a hang-up when the last writer closes it (fifo(7)). Each
 * write of up to 4096 bytes arrives in one piece.
 *
 * @throws LibcError for the errors of open(2).
 */
export function openFifo(path: string): number {
  return checked(libc().open(cString(path), O_RDWR | O_NONBLOCK | O_CLOEXEC), {
    call: "open",
    action: "open the FIFO",
    path,
  });
}
