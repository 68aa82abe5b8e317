import { cString } from "./c_string.ts";
import { checked } from "./errno.ts";
import { closeFd } from "./fd.ts";
import { libc } from "./libc.ts";
import { WriteQueue } from "./write_queue.ts";

const O_WRONLY = 1;
const O_NOCTTY = 0o400;
const O_NONBLOCK = 0o4000;
const O_CLOEXEC = 0o2000000;

/**
 * A terminal that can be written to without ever waiting for it: one that somebody has stopped with Ctrl-S, or
 * whose connection hangs, must not stop this program.
 *
 * O_NONBLOCK belongs to the open file, which a shell shares with all its programs, so the terminal is opened anew.
 */
export class TerminalOutput implements Disposable {
  readonly #fd: number;
  readonly #encoder = new TextEncoder();
  #queue = new WriteQueue();
  #open = true;

  /**
   * @param fd of this process, open on the terminal
   * @throws LibcError when it cannot be opened again, as after a change of user
   */
  constructor(fd: number) {
    this.#fd = checked(
      libc().open(cString(`/proc/self/fd/${fd}`), O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC),
      { call: "open", action: "open the terminal" },
    );
  }

  /** Bytes that the terminal has not taken yet. */
  get pending(): number {
    return this.#queue.pending;
  }

  /** Writes what the terminal takes, behind what it has not taken yet, and keeps the rest. */
  write(text: string): void {
    this.#queue.push(this.#encoder.encode(text));
    this.flush();
  }

  /** Writes what has been kept. A terminal that is gone takes everything. */
  flush(): void {
    if (this.#open) this.#queue.flush(this.#fd);
  }

  /** Forgets what the terminal has not taken. */
  drop(): void {
    this.#queue = new WriteQueue();
  }

  /** Closes the terminal and forgets what it has not taken. */
  [Symbol.dispose](): void {
    if (!this.#open) return;
    this.#open = false;
    this.drop();
    closeFd(this.#fd);
  }
}
