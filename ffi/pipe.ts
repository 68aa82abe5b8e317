import { checked } from "./errno.ts";
import { closeFd } from "./fd.ts";
import { libc } from "./libc.ts";

const O_CLOEXEC = 0o2000000;

/** A pipe whose two ends no child inherits. */
export class Pipe implements Disposable {
  readonly readFd: number;
  readonly writeFd: number;
  readonly #open: Set<number>;

  /** @throws LibcError as pipe(2) says, such as EMFILE. */
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

  /** Closes what is still open; a second call does nothing. */
  [Symbol.dispose](): void {
    for (const fd of [...this.#open]) this.#close(fd);
  }

  #close(fd: number): void {
    if (this.#open.delete(fd)) closeFd(fd);
  }
}
