import { ERRNO, LibcError } from "../../../ffi/errno.ts";
import { closeFd, readFd, sendFd } from "../../../ffi/descriptors/fd.ts";
import type { Interest, Ready } from "../../../ffi/descriptors/poll.ts";
import { connectUnix } from "../../../ffi/descriptors/unix_socket.ts";
import { WriteQueue } from "../../../ffi/descriptors/write_queue.ts";
import { LONGEST_SHORT_PROMPT } from "../../sandbox/child/hooks.ts";

/** Where the child is to listen, and what proves to it that we are the ones it waits for. */
export interface RendezvousOptions {
  readonly path: string;
  readonly secret: string;
  /** The file that tells the hook of a prompt that one may be long; made before the first such prompt is sent. */
  readonly longPromptsPath: string;
}

/**
 * Our end of the child's rendezvous socket, by which `claude agents` hands the user's replies to a Claude Code in the
 * background (2.1.330). One JSON object a line goes in; what comes out tells nothing that hooks and the
 * transcript do not.
 */
export class Rendezvous implements Disposable {
  readonly #options: RendezvousOptions;
  readonly #lines = new WriteQueue();
  readonly #buffer = new Uint8Array(4096);
  #fd: number | undefined;
  #gone = false;
  #hasLong = false;

  constructor(options: RendezvousOptions) {
    this.#options = options;
  }

  /** Connects as soon as there is a socket; true only for the call that does. */
  tryConnect(): boolean {
    if (this.#fd !== undefined || this.#gone) return false;
    try {
      this.#fd = connectUnix(this.#options.path);
    } catch (error) {
      if (error instanceof LibcError && NOT_YET.includes(error.errno)) return false;
      throw error;
    }
    this.#say({ role: "claude-print", auth: this.#options.secret });
    return true;
  }

  /** Hands a prompt over; 2.1.330 takes it for the text of a turn of its own. */
  send(prompt: string): void {
    if (prompt.length > LONGEST_SHORT_PROMPT && !this.#hasLong) this.markLongPrompts();
    this.#say({ type: "reply", text: prompt, nextTurn: true });
  }

  /** Has the hook of prompts read them by a program from now on, or by its shell where no file can be made. */
  markLongPrompts(): void {
    this.#hasLong = true;
    try {
      Deno.writeFileSync(this.#options.longPromptsPath, new Uint8Array(), { mode: 0o600 });
    } catch {
      // The shell is slower at long ones, and reads the same.
    }
  }

  /** What to wait for. */
  get interests(): readonly Interest[] {
    return this.#fd === undefined
      ? []
      : [{ fd: this.#fd, read: true, write: this.#lines.pending > 0 }];
  }

  /** Goes on with what a wait found. */
  proceed(ready: readonly Ready[]): void {
    const found = ready.find(({ fd }) => fd === this.#fd);
    if (found === undefined) return;
    if (found.writable) this.#flush();
    if (found.readable || found.hangup) this.#drain();
  }

  [Symbol.dispose](): void {
    if (this.#fd !== undefined) closeFd(this.#fd);
    this.#fd = undefined;
    this.#gone = true;
  }

  #say(line: Readonly<Record<string, unknown>>): void {
    this.#lines.push(new TextEncoder().encode(`${JSON.stringify(line)}\n`));
    this.#flush();
  }

  #flush(): void {
    if (this.#fd !== undefined && this.#lines.flush(this.#fd, sendFd) === "end") {
      this[Symbol.dispose]();
    }
  }

  #drain(): void {
    for (let count: ReturnType<typeof readFd> = 1; typeof count === "number";) {
      if (this.#fd === undefined) return;
      count = readFd(this.#fd, this.#buffer);
      if (count === "end") this[Symbol.dispose]();
    }
  }
}

/** What connect(2) says as long as the child has not got so far. */
const NOT_YET: readonly number[] = [ERRNO.ENOENT, ERRNO.ECONNREFUSED, ERRNO.EAGAIN];
