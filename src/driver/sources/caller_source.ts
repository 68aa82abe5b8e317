import { readFd } from "../../../ffi/fd.ts";
import type { Interest, Ready } from "../../../ffi/poll.ts";
import type { Message } from "../../session/message.ts";
import { createLineSplitter } from "../../transcript/line_splitter.ts";
import { type CallerLine, readCallerLine } from "../../wire/caller_line.ts";
import type { ControlRequest } from "../../wire/control.ts";

/** What the caller says, as the machines take it. */
export type CallerInput =
  | { readonly type: "message"; readonly message: Message }
  | { readonly type: "control"; readonly request: ControlRequest }
  | { readonly type: "unreadable"; readonly reason: string }
  | { readonly type: "closed" };

/** Says of a message how it reaches the child, if it does. */
type Judge = (line: Extract<CallerLine, { readonly type: "user" }>) => Message;

/** What the caller of a conversation says as stream-json, line by line as it comes. */
export class CallerSource {
  #judge: Judge | undefined;
  readonly #fd: number;
  readonly #lines = createLineSplitter();
  readonly #buffer = new Uint8Array(256 * 1024);
  #heard: CallerLine[] = [];
  #open = true;
  #closed = false;

  constructor(fd: number, { first = [] }: { readonly first?: readonly CallerLine[] } = {}) {
    this.#fd = fd;
    this.#heard = [...first];
  }

  /** Begins to speak to a child, to which the end of all words is news. */
  turnTo(judge: Judge | undefined): void {
    this.#judge = judge;
    this.#closed = false;
  }

  /** What to wait for; nothing once there is no more. */
  get interests(): readonly Interest[] {
    return this.#open ? [{ fd: this.#fd, read: true }] : [];
  }

  /** Whether something was heard that has not been taken. */
  get hasWords(): boolean {
    return this.#heard.length > 0;
  }

  /** Whether there is nothing to take any more, and never will be. */
  get isOver(): boolean {
    return !this.#open && this.#heard.length === 0;
  }

  /** Goes on with what a wait found. */
  hear(ready: readonly Ready[]): void {
    const found = ready.find(({ fd }) => fd === this.#fd);
    if (!this.#open || found === undefined || !(found.readable || found.hangup)) return;
    const count = readFd(this.#fd, this.#buffer);
    if (typeof count === "number") {
      for (const line of this.#lines.push(this.#buffer.subarray(0, count))) this.#note(line);
    } else if (count === "end") {
      this.#note(this.#lines.remainder());
      this.#open = false;
    }
  }

  /** What was said since the last time, and that it was all. */
  take(ready: readonly Ready[]): readonly CallerInput[] {
    this.hear(ready);
    const taken = this.#heard.map((line) => this.#inputOf(line));
    this.#heard = [];
    if (this.#open || this.#closed) return taken;
    this.#closed = true;
    return taken.some(({ type }) => type === "unreadable") ? taken : [...taken, { type: "closed" }];
  }

  #note(line: string): void {
    if (!this.#open) return;
    const said = readCallerLine(line);
    if (said === undefined) return;
    this.#heard.push(said);
    // What follows could be anything.
    if (said.type === "unreadable") this.#open = false;
  }

  #inputOf(line: CallerLine): CallerInput {
    if (line.type !== "user") return line;
    if (this.#judge === undefined) throw new Error("Nobody judges the caller's messages");
    return { type: "message", message: this.#judge(line) };
  }
}
