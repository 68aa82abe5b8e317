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

/** A line of the caller as an input of the conversation. */
export type CallerInput =
  | { readonly type: "message"; readonly message: Message }
  | { readonly type: "control"; readonly request: ControlRequest }
  | { readonly type: "answer"; readonly answer: ControlAnswer }
  | { readonly type: "unreadable"; readonly reason: string }
  | { readonly type: "closed" };

/** Decides how a message is delivered to the child, or why it is not delivered. */
export type Judge = (line: Extract<CallerLine, { readonly type: "user" }>) => Message;

/** The program or person that sends messages and requests to a conversation. */
export interface Caller {
  /** Called when there is input that no descriptor announces. */
  onArrival: (() => void) | undefined;
  /** Called with each line before its input is taken. */
  onLine: ((line: string) => void) | undefined;
  /** The descriptors to poll. */
  readonly interests: readonly Interest[];
  /** Whether there is input to take. */
  readonly hasInput: boolean;
  /** Whether all input has been taken and no more will follow. */
  readonly isFinished: boolean;
  /** The `initialize` request, if it was the first input. The child's arguments depend on it. */
  readonly initialize: ControlRequest | undefined;
  /** Another child takes the input from now on. It also receives `closed`. */
  attachChild(judge: Judge | undefined): void;
  /** After a poll, reads the ready descriptors and keeps the lines in a queue. `take` returns them later. */
  read(ready: readonly Ready[]): void;
  /** Takes the input since the last call. After the last line, `closed` follows once. */
  take(ready: readonly Ready[]): readonly CallerInput[];
}

/** The lines of a caller until a child takes them. */
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

  /** The `initialize` request, if it was the first line. */
  get initialize(): ControlRequest | undefined {
    return this.#initialize;
  }

  /** Whether further lines are accepted. */
  get isOpen(): boolean {
    return this.#open;
  }

  /** Whether there are lines to take. */
  get isPending(): boolean {
    return this.#said.length > 0;
  }

  /** Another child takes the lines from now on. */
  turnTo(judge: Judge | undefined): void {
    this.#judge = judge;
    this.#closed = false;
  }

  /** Adds a line. Does nothing after `end`, or after an unreadable line. */
  add(line: Line): void {
    if (!this.#open) return;
    this.#said.push(line);
    if (this.#first && line.type === "control" && line.request.subtype === "initialize") {
      this.#initialize = line.request;
    }
    this.#first = false;
    // After an unreadable line, the beginning of the next line is unknown.
    if (line.type === "unreadable") this.#open = false;
  }

  /** Ends the input. */
  end(): void {
    this.#open = false;
  }

  /** Drops requests and answers that no child has taken. Messages stay. */
  dropRequests(): void {
    this.#said = this.#said.filter(({ type }) => type !== "control" && type !== "answer");
  }

  /**
   * Takes the lines since the last call as inputs. After the last line, `closed` follows once.
   *
   * @param each called with each line
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

/** A caller that writes stream-json to a descriptor. */
export class StreamCaller implements Caller {
  onArrival: (() => void) | undefined;
  onLine: ((line: string) => void) | undefined;
  readonly #fd: number;
  readonly #lines = createLineSplitter();
  readonly #buffer = new Uint8Array(256 * 1024);
  readonly #words: CallerQueue;
  readonly #longest: number;

  /**
   * @param options.longest the maximum length of a line, in bytes, because a line without an end would fill the memory
   */
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

  /** The descriptors to poll; none after the end of input. */
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

  /** Reads bytes. An error becomes an unreadable line. */
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

/** A caller in this process. */
export class ProgramCaller implements Caller {
  onArrival: (() => void) | undefined;
  onLine: ((line: string) => void) | undefined;
  readonly interests: readonly Interest[] = [];
  readonly #words = new CallerQueue<ReadableLine>();
  readonly #timeLeft: (() => number) | undefined;

  /**
   * @param options.timeLeft the remaining time of all messages together, in milliseconds; without it, each turn has a
   * limit
   */
  constructor({ timeLeft }: { readonly timeLeft?: () => number } = {}) {
    this.#timeLeft = timeLeft;
  }

  /** Sends a line. After `close` it does nothing. */
  say(line: ReadableLine): void {
    this.#words.add(line);
    this.onArrival?.();
  }

  /** Ends the input. */
  close(): void {
    this.#words.end();
    this.onArrival?.();
  }

  /** Drops requests and answers that were meant for a child that has ended. */
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
