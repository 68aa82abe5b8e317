import { writeFd } from "./fd.ts";

/**
 * Bytes for a nonblocking fd, which are written completely and in order.
 *
 * A pty accepts some KB and then reports EAGAIN. The owner of the fd calls `flush` after each `push`, and again at each
 * poll that reports the fd as writable, while `pending` is above 0.
 */
export class WriteQueue {
  #chunks: Uint8Array<ArrayBuffer>[] = [];
  #pending = 0;

  /** The number of bytes that the fd has not accepted yet. */
  get pending(): number {
    return this.#pending;
  }

  /** Adds a copy of `bytes` after the waiting bytes. */
  push(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#chunks.push(bytes.slice());
    this.#pending += bytes.length;
  }

  /**
   * Writes until all bytes are accepted ("done"), the fd accepts no more for now ("again"), or its reader has closed it
   * ("end", as in writeFd). Then the rest is dropped.
   *
   * @param write the function that writes; by default writeFd
   * @throws LibcError as writeFd does.
   */
  flush(fd: number, write: typeof writeFd = writeFd): "done" | "again" | "end" {
    for (let chunk = this.#chunks[0]; chunk !== undefined; chunk = this.#chunks[0]) {
      const count = write(fd, chunk);
      if (count === "again") return "again";
      if (count === "end") {
        this.#chunks = [];
        this.#pending = 0;
        return "end";
      }
      this.#pending -= count;
      if (count === chunk.length) this.#chunks.shift();
      else this.#chunks[0] = chunk.subarray(count);
    }
    return "done";
  }
}
