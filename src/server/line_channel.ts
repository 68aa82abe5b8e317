import { closeFd, sendFd } from "../../ffi/descriptors/fd.ts";
import { receiveFds, sendFds } from "../../ffi/descriptors/passed_fds.ts";
import type { Interest, Ready } from "../../ffi/descriptors/poll.ts";
import { WriteQueue } from "../../ffi/descriptors/write_queue.ts";

/** How much is read at once, and how many bytes a line may have: a prompt, an environment and a command line at their longest. */
const READ_BYTES = 256 * 1024;
const LONGEST_LINE = 64 * 1024 * 1024;

const LINE_FEED = 0x0a;

/**
 * One end of a connection on which two processes of this program say JSON to each other, a line each, and pass each other
 * what they have open.
 */
export class LineChannel implements Disposable {
  readonly #fd: number;
  readonly #queue = new WriteQueue();
  readonly #decoder = new TextDecoder();
  readonly #encoder = new TextEncoder();
  #fds: number[] = [];
  #unfinished = "";
  #isOver = false;

  /** @param fd a nonblocking socket, which is the channel's from now on */
  constructor(fd: number) {
    this.#fd = fd;
  }

  /** Whether the other end is gone, or says what nobody can understand. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Whether something that was said has not been taken yet. */
  get isOwing(): boolean {
    return this.#queue.pending > 0 && !this.#isOver;
  }

  /** What to wait for. */
  get interests(): readonly Interest[] {
    return this.#isOver ? [] : [{ fd: this.#fd, read: true, write: this.isOwing }];
  }

  /** Says something; `fds` go with the first thing that is said. */
  say(message: unknown, { fds = [] }: { readonly fds?: readonly number[] } = {}): void {
    if (this.#isOver) return;
    let bytes = this.#encoder.encode(`${JSON.stringify(message)}\n`);
    if (fds.length > 0) {
      const count = sendFds(this.#fd, { bytes: bytes.subarray(0, 1), fds });
      if (count === "end") return this.#end();
      if (count === "again") throw new Error("Cannot pass fds: the connection is not new");
      bytes = bytes.subarray(count);
    }
    this.#queue.push(bytes);
    this.#flush();
  }

  /** What was said in whole lines, as JSON that was parsed, since the last time. */
  hear(ready: readonly Ready[]): readonly unknown[] {
    const found = ready.find(({ fd }) => fd === this.#fd);
    if (found === undefined || this.#isOver) return [];
    if (found.writable) this.#flush();
    if (!(found.readable || found.hangup)) return [];
    const received = receiveFds(this.#fd, { most: READ_BYTES });
    if (received === "again") return [];
    if (received === "end") {
      this.#end();
      return [];
    }
    this.#fds.push(...received.fds);
    return this.#parsed(received.bytes);
  }

  /** The fds that have come so far, which are now the caller's to close. */
  takeFds(): readonly number[] {
    return this.#fds.splice(0);
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    for (const fd of this.takeFds()) closeFd(fd);
    closeFd(this.#fd);
  }

  #parsed(bytes: Uint8Array<ArrayBuffer>): readonly unknown[] {
    const text = this.#unfinished + this.#decoder.decode(bytes, { stream: true });
    // A long line comes in many pieces, which are not searched again.
    if (!bytes.includes(LINE_FEED)) {
      this.#unfinished = text;
      if (text.length > LONGEST_LINE) this.#end();
      return [];
    }
    const lines = text.split("\n");
    this.#unfinished = lines.pop() ?? "";
    try {
      return lines.map((line): unknown => JSON.parse(line));
    } catch {
      this.#end();
      return [];
    }
  }

  #flush(): void {
    if (this.#queue.flush(this.#fd, sendFd) === "end") this.#end();
  }

  #end(): void {
    this.#isOver = true;
  }
}
