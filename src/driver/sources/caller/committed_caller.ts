import type { Interest, Ready } from "../../../../ffi/descriptors/poll.ts";
import type { ControlRequest } from "../../../wire/control.ts";
import type { Caller, CallerInput, Judge } from "./caller.ts";

/**
 * A caller whose words another program could still take to a child of its own: nothing is read or taken of them before it
 * has given them away.
 */
export class CommittedCaller implements Caller {
  readonly #caller: Caller;
  readonly #commit: () => Promise<void>;
  #state: "kept" | "asked" | "given" = "kept";

  /** @param options.commit asks for them, once there are some; as long as it does not resolve, none is taken */
  constructor(caller: Caller, { commit }: { readonly commit: () => Promise<void> }) {
    this.#caller = caller;
    this.#commit = commit;
  }

  get onArrival(): (() => void) | undefined {
    return this.#caller.onArrival;
  }

  set onArrival(listener: (() => void) | undefined) {
    this.#caller.onArrival = listener;
  }

  get onLine(): ((line: string) => void) | undefined {
    return this.#caller.onLine;
  }

  set onLine(listener: ((line: string) => void) | undefined) {
    this.#caller.onLine = listener;
  }

  get interests(): readonly Interest[] {
    return this.#state === "asked" ? [] : this.#caller.interests;
  }

  get hasWords(): boolean {
    return this.#caller.hasWords;
  }

  get isOver(): boolean {
    return this.#state === "given" && this.#caller.isOver;
  }

  get initialize(): ControlRequest | undefined {
    return this.#caller.initialize;
  }

  turnTo(judge: Judge | undefined): void {
    this.#caller.turnTo(judge);
  }

  hear(ready: readonly Ready[]): void {
    if (this.#state === "given") return this.#caller.hear(ready);
    const fds = this.#caller.interests.map(({ fd }) => fd);
    if (ready.some(({ fd }) => fds.includes(fd))) this.#ask();
  }

  take(ready: readonly Ready[]): readonly CallerInput[] {
    if (this.#state === "given") return this.#caller.take(ready);
    this.hear(ready);
    if (this.#caller.hasWords) this.#ask();
    return [];
  }

  #ask(): void {
    if (this.#state !== "kept") return;
    this.#state = "asked";
    this.#commit().then(() => {
      this.#state = "given";
      this.onArrival?.();
    }, () => {
      // Whoever keeps them has gone, and the conversation is told to end.
    });
  }
}
