import { writeFd } from "./fd.ts";

/**
 * Bytes on their way to a nonblocking fd, in order and complete.
 *
 * A pty takes some KB and then says EAGAIN. Whoever owns the fd calls `flush` after each `push`,
 * and again at each poll that says writable, for as long as `pending` is above 0.
 */
export class WriteQueue {
  #chunks: Uint8Array<ArrayBuffer>[] = [];
  #pending = 0;

  /** Bytes not yet accepted by the fd. */
  get pending(): number {
    return this.#pending;
  }

  /** Adds a copy of `bytes` behind what is already waiting. */
  push(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#chunks.push(bytes.slice());
    this.#pending += bytes.length;
  }

  /**
   * Writes until everything is accepted ("done"), the fd takes no more for now ("again"), or its
   * reader is gone ("end", as in writeFd). Then the rest is dropped.
   *
   * @param write how bytes are written, unless with writeFd
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
