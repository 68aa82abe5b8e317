import type { Interest } from "../../../../ffi/descriptors/poll.ts";
import { lineText, type SpokenLine } from "../../../claude/wire/caller_line.ts";
import type { ControlRequest } from "../../../claude/wire/control.ts";
import type { Caller, CallerInput, Judge } from "./caller.ts";
import { CallerWords } from "./caller_words.ts";

/** A caller in this very program, which says what it likes when it likes. */
export class ProgramCaller implements Caller {
  onArrival: (() => void) | undefined;
  onLine: ((line: string) => void) | undefined;
  readonly interests: readonly Interest[] = [];
  readonly #words = new CallerWords<SpokenLine>();
  readonly #timeLeft: (() => number) | undefined;

  /** @param options.timeLeft what is left of the time for all that is said, in milliseconds; without it each turn has its own */
  constructor({ timeLeft }: { readonly timeLeft?: () => number } = {}) {
    this.#timeLeft = timeLeft;
  }

  /** Says something; nothing is heard any more once it is closed. */
  say(line: SpokenLine): void {
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

  turnTo(judge: Judge | undefined): void {
    this.#words.turnTo(judge);
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

  hear(): void {}

  take(): readonly CallerInput[] {
    const taken = this.#words.take((line) => this.onLine?.(lineText(line)));
    const timeLeftMs = this.#timeLeft?.();
    if (timeLeftMs === undefined) return taken;
    return taken.map((input) =>
      input.type === "message"
        ? { type: "message", message: { ...input.message, timeLeftMs } }
        : input
    );
  }
}
