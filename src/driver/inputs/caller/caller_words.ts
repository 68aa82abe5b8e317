import type { CallerLine } from "../../../claude/wire/caller_line.ts";
import type { ControlRequest } from "../../../claude/wire/control.ts";
import type { CallerInput, Judge } from "./caller.ts";

/** What a caller has said, until a child takes it. */
export class CallerWords<Line extends CallerLine = CallerLine> {
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
