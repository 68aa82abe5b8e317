import { LibcError } from "../../../../ffi/errno.ts";
import { readFd } from "../../../../ffi/descriptors/fd.ts";
import type { Interest, Ready } from "../../../../ffi/descriptors/poll.ts";
import { createLineSplitter, LONGEST_LINE } from "../../../claude/transcript/line_splitter.ts";
import { type CallerLine, readCallerLine } from "../../../claude/wire/caller_line.ts";
import type { ControlRequest } from "../../../claude/wire/control.ts";
import type { Caller, CallerInput, Judge } from "./caller.ts";
import { CallerWords } from "./caller_words.ts";

/** What the caller of a conversation says as stream-json, line by line as it comes. */
export class CallerSource implements Caller {
  onArrival: (() => void) | undefined;
  onLine: ((line: string) => void) | undefined;
  readonly #fd: number;
  readonly #lines = createLineSplitter();
  readonly #buffer = new Uint8Array(256 * 1024);
  readonly #words: CallerWords;
  readonly #longest: number;

  /** @param options.longest the longest line that is read, in bytes: whoever never ends one would fill memory */
  constructor(
    fd: number,
    { first = [], longest = LONGEST_LINE }: {
      readonly first?: readonly CallerLine[];
      readonly longest?: number;
    } = {},
  ) {
    this.#fd = fd;
    this.#longest = longest;
    this.#words = new CallerWords(first);
  }

  turnTo(judge: Judge | undefined): void {
    this.#words.turnTo(judge);
  }

  /** What to wait for; nothing once there is no more. */
  get interests(): readonly Interest[] {
    return this.#words.isOpen ? [{ fd: this.#fd, read: true }] : [];
  }

  get initialize(): ControlRequest | undefined {
    return this.#words.initialize;
  }

  get hasWords(): boolean {
    return this.#words.isPending;
  }

  get isOver(): boolean {
    return !this.#words.isOpen && !this.#words.isPending;
  }

  hear(ready: readonly Ready[]): void {
    const found = ready.find(({ fd }) => fd === this.#fd);
    if (!this.#words.isOpen || found === undefined || !(found.readable || found.hangup)) return;
    const count = this.#read();
    if (typeof count === "number") {
      for (const line of this.#lines.push(this.#buffer.subarray(0, count))) this.#note(line);
      if (this.#lines.pending() > this.#longest) {
        this.#words.add({
          type: "unreadable",
          reason: `Cannot read a line of stdin: it is longer than ${this.#longest} bytes`,
        });
      }
    } else if (count === "end") {
      this.#note(this.#lines.remainder());
      this.#words.end();
    }
  }

  take(ready: readonly Ready[]): readonly CallerInput[] {
    this.hear(ready);
    return this.#words.take();
  }

  /** What cannot be read is told as what cannot be understood. */
  #read(): ReturnType<typeof readFd> {
    try {
      return readFd(this.#fd, this.#buffer);
    } catch (error) {
      if (!(error instanceof LibcError)) throw error;
      this.#words.add({ type: "unreadable", reason: `Cannot read stdin: ${error.description}` });
      return "again";
    }
  }

  #note(line: string): void {
    if (line !== "") this.onLine?.(line);
    const said = readCallerLine(line);
    if (said !== undefined) this.#words.add(said);
  }
}
