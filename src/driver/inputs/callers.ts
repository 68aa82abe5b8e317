import type { Interest, Ready } from "../../../ffi/descriptors/poll.ts";
import type { Message } from "../../conversation/control/message.ts";
import {
  type CallerLine,
  formatCallerLine,
  type ReadableLine,
  readCallerLine,
} from "../../claude/wire/caller_line.ts";
import type { ControlAnswer, ControlRequest } from "../../claude/wire/control.ts";
import { LibcError } from "../../../ffi/errno.ts";
import { readFd } from "../../../ffi/descriptors/fd.ts";
import { createLineSplitter, LONGEST_LINE } from "../../claude/transcript/line_splitter.ts";

/** What the caller says, as the machines take it. */
export type CallerInput =
  | { readonly type: "message"; readonly message: Message }
  | { readonly type: "control"; readonly request: ControlRequest }
  | { readonly type: "answer"; readonly answer: ControlAnswer }
  | { readonly type: "unreadable"; readonly reason: string }
  | { readonly type: "closed" };

/** Says of a message how it reaches the child, if it does. */
export type Judge = (line: Extract<CallerLine, { readonly type: "user" }>) => Message;

/** Whoever speaks in a conversation. */
export interface Caller {
  /** Called when something is said of which no fd tells, while somebody listens. */
  onArrival: (() => void) | undefined;
  /** Takes each line that is said, before what is made of it is taken. */
  onLine: ((line: string) => void) | undefined;
  /** What to wait for. */
  readonly interests: readonly Interest[];
  /** Whether something was said that has not been taken. */
  readonly hasInput: boolean;
  /** Whether there is nothing to take any more, and never will be. */
  readonly isFinished: boolean;
  /** The first request of the control protocol, once it has been said before anything else: it decides how a child starts. */
  readonly initialize: ControlRequest | undefined;
  /** Begins to speak to a child, to which the end of all words is news. */
  attachChild(judge: Judge | undefined): void;
  /** Goes on with what a wait found. */
  read(ready: readonly Ready[]): void;
  /** What was said since the last time, and that it was all. */
  take(ready: readonly Ready[]): readonly CallerInput[];
}

/** What a caller has said, until a child takes it. */
class CallerQueue<Line extends CallerLine = CallerLine> {
  #judge: Judge | undefined;
  #said: Line[];
  #first = true;
  #initialize: ControlRequest | undefined;
  #open = true;
  #closed = false;

  constructor(first: readonly Line[] = []) {
    this.#said = [...first];
  }

  /** The initialization, if nothing was said before it. */
  get initialize(): ControlRequest | undefined {
    return this.#initialize;
  }

  /** Whether more may be said. */
  get isOpen(): boolean {
    return this.#open;
  }

  /** Whether something was said that has not been taken. */
  get isPending(): boolean {
    return this.#said.length > 0;
  }

  /** From now on it is another child that takes what is said. */
  turnTo(judge: Judge | undefined): void {
    this.#judge = judge;
    this.#closed = false;
  }

  /** Takes a line; there are no more of them after `end`, and after one that cannot be read. */
  add(line: Line): void {
    if (!this.#open) return;
    this.#said.push(line);
    if (this.#first && line.type === "control" && line.request.subtype === "initialize") {
      this.#initialize = line.request;
    }
    this.#first = false;
    // What follows could be anything.
    if (line.type === "unreadable") this.#open = false;
  }

  /** There is no more to be said. */
  end(): void {
    this.#open = false;
  }

  /** Forgets requests and answers that nobody has taken; messages stay. */
  dropRequests(): void {
    this.#said = this.#said.filter(({ type }) => type !== "control" && type !== "answer");
  }

  /**
   * What was said since the last time, and that it was all.
   *
   * @param each takes each line of it
   */
  take(each: (line: Line) => void = () => {}): readonly CallerInput[] {
    for (const line of this.#said) each(line);
    const taken = this.#said.map((line) => this.#inputOf(line));
    this.#said = [];
    if (this.#open || this.#closed) return taken;
    this.#closed = true;
    return taken.some(({ type }) => type === "unreadable") ? taken : [...taken, { type: "closed" }];
  }

  #inputOf(line: CallerLine): CallerInput {
    if (line.type !== "user") return line;
    if (this.#judge === undefined) throw new Error("Nobody judges the caller's messages");
    return { type: "message", message: this.#judge(line) };
  }
}

/** What the caller of a conversation says as stream-json, line by line as it comes. */
export class StreamCaller implements Caller {
  onArrival: (() => void) | undefined;
  onLine: ((line: string) => void) | undefined;
  readonly #fd: number;
  readonly #lines = createLineSplitter();
  readonly #buffer = new Uint8Array(256 * 1024);
  readonly #words: CallerQueue;
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
    this.#words = new CallerQueue(first);
  }

  attachChild(judge: Judge | undefined): void {
    this.#words.turnTo(judge);
  }

  /** What to wait for; nothing once there is no more. */
  get interests(): readonly Interest[] {
    return this.#words.isOpen ? [{ fd: this.#fd, read: true }] : [];
  }

  get initialize(): ControlRequest | undefined {
    return this.#words.initialize;
  }

  get hasInput(): boolean {
    return this.#words.isPending;
  }

  get isFinished(): boolean {
    return !this.#words.isOpen && !this.#words.isPending;
  }

  read(ready: readonly Ready[]): void {
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
    this.read(ready);
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

/** A caller in this very program, which says what it likes when it likes. */
export class ProgramCaller implements Caller {
  onArrival: (() => void) | undefined;
  onLine: ((line: string) => void) | undefined;
  readonly interests: readonly Interest[] = [];
  readonly #words = new CallerQueue<ReadableLine>();
  readonly #timeLeft: (() => number) | undefined;

  /** @param options.timeLeft what is left of the time for all that is said, in milliseconds; without it each turn has its own */
  constructor({ timeLeft }: { readonly timeLeft?: () => number } = {}) {
    this.#timeLeft = timeLeft;
  }

  /** Says something; nothing is heard any more once it is closed. */
  say(line: ReadableLine): void {
    this.#words.add(line);
    this.onArrival?.();
  }

  /** Says nothing more. */
  close(): void {
    this.#words.end();
    this.onArrival?.();
  }

  /** Takes back what was asked of a child that is gone, and what it was answered. */
  dropRequests(): void {
    this.#words.dropRequests();
  }

  attachChild(judge: Judge | undefined): void {
    this.#words.turnTo(judge);
  }

  get initialize(): ControlRequest | undefined {
    return this.#words.initialize;
  }

  get hasInput(): boolean {
    return this.#words.isPending;
  }

  get isFinished(): boolean {
    return !this.#words.isOpen && !this.#words.isPending;
  }

  read(): void {}

  take(): readonly CallerInput[] {
    const taken = this.#words.take((line) => this.onLine?.(formatCallerLine(line)));
    const timeLeftMs = this.#timeLeft?.();
    if (timeLeftMs === undefined) return taken;
    return taken.map((input) =>
      input.type === "message"
        ? { type: "message", message: { ...input.message, timeLeftMs } }
        : input
    );
  }
}
