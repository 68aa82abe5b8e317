import { ERRNO, LibcError } from "../../../ffi/errno.ts";
import { closeFd, readFd, sendFd } from "../../../ffi/descriptors/fd.ts";
import type { Interest, Ready } from "../../../ffi/descriptors/poll.ts";
import { connectUnix } from "../../../ffi/descriptors/unix_socket.ts";
import { WriteQueue } from "../../../ffi/descriptors/write_queue.ts";
import { LONGEST_SHORT_PROMPT } from "../../sandbox/child/hooks.ts";

/** The child's socket, and the secret that authenticates this program. */
export interface RendezvousOptions {
  readonly path: string;
  readonly secret: string;
  /**
   * The path of a file that makes the UserPromptSubmit hook expect long prompts. It is created before the first long
   * prompt is sent.
   */
  readonly longPromptsPath: string;
}

/**
 * Delivers prompts to the child's rendezvous socket, through which `claude agents` sends the user's replies to a
 * background Claude Code (2.1.330). Each line is a JSON object. The child's lines are ignored, because hooks and the
 * transcript have more facts.
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

  /** Connects if the socket exists; true only for the call that connects. */
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

  /** Sends a prompt, which starts a turn (2.1.330). */
  send(prompt: string): void {
    if (prompt.length > LONGEST_SHORT_PROMPT && !this.#hasLong) this.markLongPrompts();
    this.#say({ type: "reply", text: prompt, nextTurn: true });
  }

  /** From now on, the hook reads prompts with a program, which is faster for long prompts. */
  markLongPrompts(): void {
    this.#hasLong = true;
    try {
      Deno.writeFileSync(this.#options.longPromptsPath, new Uint8Array(), { mode: 0o600 });
    } catch {
      // Without the file, the hook's shell reads the prompt, but more slowly.
    }
  }

  /** The descriptors to poll. */
  get interests(): readonly Interest[] {
    return this.#fd === undefined
      ? []
      : [{ fd: this.#fd, read: true, write: this.#lines.pending > 0 }];
  }

  /** Reads and writes after a poll. */
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

/** Errors of connect(2) while the child does not listen yet. */
const NOT_YET: readonly number[] = [ERRNO.ENOENT, ERRNO.ECONNREFUSED, ERRNO.EAGAIN];
