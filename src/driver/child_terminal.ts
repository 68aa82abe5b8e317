import { drainFd } from "../../ffi/descriptors/fd.ts";
import type { Interest, Ready } from "../../ffi/descriptors/poll.ts";
import { WriteQueue } from "../../ffi/descriptors/write_queue.ts";
import type { Pty, WindowSize } from "../../ffi/terminal/pty.ts";
import type { Screen } from "../conversation/terminal/screen.ts";

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

/** Most bytes typed ahead of a child that does not read them; one paste may be longer. */
const MOST_UNREAD = 1024 * 1024;
/** Most portions of output that are still read once the child is gone: 16 MB and more. */
const MAX_LAST_PORTIONS = 512;

/** Takes what the child writes to its terminal; the bytes are good only until it returns. */
type OnBytes = (bytes: Uint8Array<ArrayBuffer>) => void;

/** What can be seen of a terminal, at any time and long after its child is gone. */
export interface ShownTerminal {
  /** How large it is, in character cells. */
  readonly size: WindowSize;
  /** What was written to it last, oldest first: enough to draw what it shows. */
  readonly chunks: () => readonly Uint8Array[];
  /** Types something, as soon as the child takes it. */
  readonly type: (bytes: Uint8Array) => void;
}

/** The terminal in which the child runs: what it shows, what is typed for it, and its size. */
export class ChildTerminal implements ShownTerminal {
  readonly #pty: Pty;
  readonly #ring = new TerminalRing();
  readonly #typed = new WriteQueue();
  readonly #buffer = new Uint8Array(64 * 1024);
  #size: WindowSize;
  #isOpen = true;

  /** @param size that it has */
  constructor(pty: Pty, size: WindowSize) {
    this.#pty = pty;
    this.#size = size;
  }

  /** What to wait for. */
  get interests(): readonly Interest[] {
    const { fd } = this.#pty;
    return this.#isOpen ? [{ fd, read: true, write: this.#typed.pending > 0 }] : [];
  }

  /** How large it is, in character cells. */
  get size(): WindowSize {
    return this.#size;
  }

  /** Makes it as large as that. */
  resize(size: WindowSize): void {
    this.#size = size;
    if (this.#isOpen) this.#pty.resize(size);
  }

  /** Types something, as soon as the child takes it. */
  type(bytes: Uint8Array): void {
    // A child that does not read what was typed for it long ago has no use for more; it may ask without end.
    if (this.#typed.pending < MOST_UNREAD) this.#typed.push(bytes);
    if (this.#isOpen) this.#typed.flush(this.#pty.fd);
  }

  /** Types what is left, and reads a portion: in between a flood everything else is heard. */
  proceed(ready: readonly Ready[], onBytes: OnBytes): void {
    const { fd } = this.#pty;
    const { writable, readable, hangup } = ready.find((each) => each.fd === fd) ?? {};
    if (writable === true) this.#typed.flush(fd);
    if (readable === true || hangup === true) this.#read(1, onBytes);
  }

  /** Reads what a child that is gone has left. */
  readRest(onBytes: OnBytes): void {
    if (this.#isOpen) this.#read(MAX_LAST_PORTIONS, onBytes);
  }

  /** What the child wrote last. */
  chunks(): readonly Uint8Array[] {
    return this.#ring.chunks();
  }

  /** Renders what it shows; only where somebody looks at it is loaded what draws it. */
  async render(): Promise<Screen> {
    const [chunks, size] = [this.chunks(), this.#size];
    const { renderScreen } = await import("../conversation/terminal/headless_terminal.ts");
    return await renderScreen(chunks, size);
  }

  #read(portions: number, onBytes: OnBytes): void {
    let outcome: ReturnType<typeof drainFd> = "more";
    for (let portion = 0; portion < portions && outcome === "more"; portion++) {
      outcome = drainFd(this.#pty.fd, {
        buffer: this.#buffer,
        onBytes: (bytes) => {
          this.#ring.push(bytes);
          onBytes(bytes);
        },
      });
    }
    if (outcome === "end") this.#isOpen = false;
  }
}
