import type { Interest, Ready } from "../../../../ffi/descriptors/poll.ts";
import type { Caller, CallerInput } from "./caller.ts";
import { PassingCaller } from "./passing_caller.ts";

/**
 * A caller whose words another program could still take to a child of its own: nothing is read or taken of them before it
 * has given them away.
 */
export class CommittedCaller extends PassingCaller {
  readonly #commit: () => Promise<void>;
  #state: "kept" | "asked" | "given" = "kept";

  /** @param options.commit asks for them, once there are some; as long as it does not resolve, none is taken */
  constructor(caller: Caller, { commit }: { readonly commit: () => Promise<void> }) {
    super(caller);
    this.#commit = commit;
  }

  override get interests(): readonly Interest[] {
    return this.#state === "asked" ? [] : this.caller.interests;
  }

  override get isOver(): boolean {
    return this.#state === "given" && this.caller.isOver;
  }

  override hear(ready: readonly Ready[]): void {
    if (this.#state === "given") return this.caller.hear(ready);
    const fds = this.caller.interests.map(({ fd }) => fd);
    if (ready.some(({ fd }) => fds.includes(fd))) this.#ask();
  }

  override take(ready: readonly Ready[]): readonly CallerInput[] {
    if (this.#state === "given") return this.caller.take(ready);
    this.hear(ready);
    if (this.caller.hasWords) this.#ask();
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
