/** Bytes kept: several full redraws of a large screen. */
const CAPACITY = 512 * 1024;

/** The last bytes a child wrote to its terminal, for the rare moment when its screen has to be seen. */
export class TerminalRing {
  // One buffer for good: a copy of each read would make a flood stop for garbage collections.
  readonly #bytes = new Uint8Array(CAPACITY);
  #written = 0;

  /** Keeps a copy of `bytes` and forgets the oldest beyond the capacity. */
  push(bytes: Uint8Array): void {
    const kept = bytes.subarray(Math.max(0, bytes.length - CAPACITY));
    const at = (this.#written + bytes.length - kept.length) % CAPACITY;
    const first = kept.subarray(0, CAPACITY - at);
    this.#bytes.set(first, at);
    this.#bytes.set(kept.subarray(first.length), 0);
    this.#written += bytes.length;
  }

  /** What is kept, oldest first, in one or two pieces. */
  chunks(): readonly Uint8Array<ArrayBuffer>[] {
    const end = this.#written % CAPACITY;
    return this.#written <= CAPACITY
      ? [this.#bytes.slice(0, this.#written)]
      : [this.#bytes.slice(end), this.#bytes.slice(0, end)];
  }
}
