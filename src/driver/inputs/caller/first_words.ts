import type { Ready } from "../../../../ffi/descriptors/poll.ts";
import type { Caller, CallerInput } from "./caller.ts";
import { PassingCaller } from "./passing_caller.ts";

/**
 * The caller of a child that was started before anything was said. The child gets the first words once it is known that
 * it has been told nothing that has changed since; one that is outdated is told that there is nothing to be said, and the
 * words stay for the next one.
 */
export class FirstWords extends PassingCaller {
  readonly #isUpToDate: () => Promise<boolean>;
  #child: "waiting" | "judged" | "good" | "outdated" | "dismissed" = "waiting";

  /** @param isUpToDate asked once, when there are words; a failure is a no */
  constructor(caller: Caller, isUpToDate: () => Promise<boolean>) {
    super(caller);
    this.#isUpToDate = isUpToDate;
  }

  /** Whether the child was told that there is nothing to be said. */
  get isDismissed(): boolean {
    return this.#child === "dismissed";
  }

  override take(ready: readonly Ready[]): readonly CallerInput[] {
    this.hear(ready);
    if (this.#child === "waiting" && this.caller.hasWords) this.#judge();
    switch (this.#child) {
      case "waiting":
      case "good":
        return this.caller.take([]);
      case "outdated":
        this.#child = "dismissed";
        return [{ type: "closed" }];
      case "judged":
      case "dismissed":
        return [];
    }
  }

  #judge(): void {
    this.#child = "judged";
    this.#isUpToDate().catch(() => false).then((isUpToDate) => {
      this.#child = isUpToDate ? "good" : "outdated";
      this.onArrival?.();
    });
  }
}
