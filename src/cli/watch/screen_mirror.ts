import type { Input } from "../../conversation/control/input.ts";
import {
  filterForMirror,
  MIRROR_RESET,
  MIRROR_START,
  type MirrorState,
} from "../../conversation/terminal/mirror_filter.ts";

/** Where a screen is mirrored: a terminal that is never waited for, as an `Outlet` is. */
export interface MirrorOutput {
  /** Bytes that the terminal has not taken yet. */
  readonly pending: number;
  readonly write: (text: string) => void;
  readonly flush: () => void;
  readonly drop: () => void;
}

const ENTER = "\x1b[?1049h\x1b[0m\x1b[2J\x1b[H";
/** Ends a sequence that was cut short, too. */
const LEAVE = `\x18${MIRROR_RESET}\x1b[?1049l`;
const ANEW = "\x18\x1b[0m\x1b[2J\x1b[H";

/** A terminal that is so far behind, in bytes, is shown only what comes after it has caught up. */
const MOST_BEHIND = 4 * 1024 * 1024;
const FLUSH_MS = 20;
/** How long a terminal is given to take the end: it has to be left as it was. */
const LEAVE_MS = 2000;

/**
 * Shows what a child draws on a terminal's other screen, read-only, from the spawn until it is disposed; then the
 * terminal is as it was before.
 *
 * @see filterForMirror for what reaches the terminal
 */
export class ScreenMirror implements Disposable {
  readonly #output: MirrorOutput;
  readonly #begin: () => Disposable;
  #input: Disposable | undefined;
  #filter: MirrorState = MIRROR_START;
  #isBehind = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param options.begin called when the mirror is entered; what it returns is disposed when it is left */
  constructor(options: { readonly output: MirrorOutput; readonly begin: () => Disposable }) {
    this.#output = options.output;
    this.#begin = options.begin;
  }

  /** Takes the next sign of the run. */
  observe(sign: Input): void {
    if (sign.type === "spawned") {
      this.#input = this.#begin();
      this.#write(ENTER);
    } else if (sign.type === "terminal") {
      const { state, text } = filterForMirror(this.#filter, sign.bytes);
      this.#filter = state;
      this.#write(text);
    }
  }

  /** Gives the terminal back. */
  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    if (this.#input === undefined) return;
    this.#output.drop();
    this.#output.write(LEAVE);
    const giveUpAt = performance.now() + LEAVE_MS;
    while (this.#output.pending > 0 && performance.now() < giveUpAt) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, FLUSH_MS);
      this.#output.flush();
    }
    this.#input[Symbol.dispose]();
    this.#input = undefined;
  }

  #write(text: string): void {
    if (this.#isBehind || text === "") return;
    this.#output.write(text);
    if (this.#output.pending > MOST_BEHIND) {
      this.#output.drop();
      this.#isBehind = true;
      this.#output.write(ANEW);
    }
    this.#catchUp();
  }

  /** Writes what is owed as soon as the terminal takes it. */
  #catchUp(): void {
    if (this.#output.pending === 0) {
      this.#isBehind = false;
      return;
    }
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#output.flush();
      this.#catchUp();
    }, FLUSH_MS);
    Deno.unrefTimer(this.#timer);
  }
}
