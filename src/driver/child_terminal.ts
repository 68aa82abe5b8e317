import { drainFd } from "../../ffi/descriptors/fd.ts";
import type { Interest, Ready } from "../../ffi/descriptors/poll.ts";
import { WriteQueue } from "../../ffi/descriptors/write_queue.ts";
import type { Pty, WindowSize } from "../../ffi/terminal/pty.ts";
import type { Screen } from "../conversation/terminal/screen.ts";

/** The number of bytes that are kept: several full redraws of a large screen. */
const CAPACITY = 512 * 1024;

/** The last bytes that a child wrote to its terminal. Its screen is rendered from them only when it is needed. */
export class TerminalRing {
  // A single buffer is reused. With a copy of each read, garbage collections would stop a flood of output.
  readonly #bytes = new Uint8Array(CAPACITY);
  #written = 0;

  /** Copies bytes, and drops the oldest ones beyond the capacity. */
  push(bytes: Uint8Array): void {
    const kept = bytes.subarray(Math.max(0, bytes.length - CAPACITY));
    const at = (this.#written + bytes.length - kept.length) % CAPACITY;
    const first = kept.subarray(0, CAPACITY - at);
    this.#bytes.set(first, at);
    this.#bytes.set(kept.subarray(first.length), 0);
    this.#written += bytes.length;
  }

  /** The kept bytes, oldest first, in one or two pieces. */
  chunks(): readonly Uint8Array<ArrayBuffer>[] {
    const end = this.#written % CAPACITY;
    return this.#written <= CAPACITY
      ? [this.#bytes.slice(0, this.#written)]
      : [this.#bytes.slice(end), this.#bytes.slice(0, end)];
  }
}

/** The maximum number of unread typed bytes. Further ones are dropped, but a single paste may be longer. */
const MOST_UNREAD = 1024 * 1024;
/** The maximum number of portions of output that are read after the child's end: 16 MB and more. */
const MAX_LAST_PORTIONS = 512;

/** Receives output of the child. The bytes are valid only until the call returns. */
type OnBytes = (bytes: Uint8Array<ArrayBuffer>) => void;

/** The visible side of a terminal, also after the child's end. */
export interface ShownTerminal {
  /** The terminal's size in character cells. */
  readonly size: WindowSize;
  /** The last output, oldest first. It is enough to draw the screen. */
  readonly chunks: () => readonly Uint8Array[];
  /** Types bytes as soon as the child reads. */
  readonly type: (bytes: Uint8Array) => void;
}

/** The terminal in which the child runs. */
export class ChildTerminal implements ShownTerminal {
  readonly #pty: Pty;
  readonly #ring = new TerminalRing();
  readonly #typed = new WriteQueue();
  readonly #buffer = new Uint8Array(64 * 1024);
  #size: WindowSize;
  #isOpen = true;

  constructor(pty: Pty, size: WindowSize) {
    this.#pty = pty;
    this.#size = size;
  }

  /** The descriptors to poll. */
  get interests(): readonly Interest[] {
    const { fd } = this.#pty;
    return this.#isOpen ? [{ fd, read: true, write: this.#typed.pending > 0 }] : [];
  }

  /** The terminal's size in character cells. */
  get size(): WindowSize {
    return this.#size;
  }

  resize(size: WindowSize): void {
    this.#size = size;
    if (this.#isOpen) this.#pty.resize(size);
  }

  /** Types bytes as soon as the child reads. */
  type(bytes: Uint8Array): void {
    // A child may send terminal queries without end and read none of the answers.
    if (this.#typed.pending < MOST_UNREAD) this.#typed.push(bytes);
    if (this.#isOpen) this.#typed.flush(this.#pty.fd);
  }

  /** Writes pending bytes and reads one portion. During a flood, other inputs are read between the portions. */
  proceed(ready: readonly Ready[], onBytes: OnBytes): void {
    const { fd } = this.#pty;
    const { writable, readable, hangup } = ready.find((each) => each.fd === fd) ?? {};
    if (writable === true) this.#typed.flush(fd);
    if (readable === true || hangup === true) this.#read(1, onBytes);
  }

  /** Reads the rest of an ended child's output. */
  readRest(onBytes: OnBytes): void {
    if (this.#isOpen) this.#read(MAX_LAST_PORTIONS, onBytes);
  }

  chunks(): readonly Uint8Array[] {
    return this.#ring.chunks();
  }

  /** Renders the screen. The renderer is loaded only here, because most runs need no screen. */
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
