import type { Interest, Ready } from "../../../../ffi/descriptors/poll.ts";
import type { ControlRequest } from "../../../claude/wire/control.ts";
import type { JsonObject } from "../../../json_object.ts";
import type { Caller, CallerInput, Judge } from "./caller.ts";

/**
 * The place of a caller that a child waits for without knowing whose it will be: nothing is said until somebody takes it.
 */
export class LateCaller implements Caller {
  #caller: Caller | undefined;
  #onTaken: (() => void) | undefined;
  #onArrival: (() => void) | undefined;
  #onLine: ((line: string) => void) | undefined;
  #judge: Judge | undefined;
  #child: "open" | "closed" | "told" = "open";
  /** The initialization as whoever comes will ask for it, and whether it is still to be taken. */
  readonly #ahead: ControlRequest | undefined;
  #isAsked = false;

  /** @param options.initialize what will be asked for first of all, if anything is */
  constructor({ initialize: body }: { readonly initialize?: JsonObject | undefined } = {}) {
    if (body === undefined) return;
    this.#ahead = { id: crypto.randomUUID(), subtype: "initialize", body, ahead: true };
  }

  /**
   * From now on it is this caller that speaks.
   *
   * @param onTaken called when the child is about to be told the first of its words
   */
  bind(caller: Caller, onTaken: () => void): void {
    this.#caller = caller;
    this.#onTaken = onTaken;
    caller.turnTo(this.#judge);
    caller.onLine = this.#onLine;
    caller.onArrival = this.#onArrival;
    this.#onArrival?.();
  }

  /** Nobody speaks, and nobody will: whoever had the place keeps the words that have not been taken. */
  vacate(): void {
    if (this.#caller !== undefined) this.#caller.onArrival = undefined;
    this.#caller = undefined;
    this.#child = "closed";
    this.#onArrival?.();
  }

  get onArrival(): (() => void) | undefined {
    return this.#onArrival;
  }

  set onArrival(listener: (() => void) | undefined) {
    this.#onArrival = listener;
    if (this.#caller !== undefined) this.#caller.onArrival = listener;
  }

  get onLine(): ((line: string) => void) | undefined {
    return this.#onLine;
  }

  set onLine(listener: ((line: string) => void) | undefined) {
    this.#onLine = listener;
    if (this.#caller !== undefined) this.#caller.onLine = listener;
  }

  get interests(): readonly Interest[] {
    return this.#caller?.interests ?? [];
  }

  get hasWords(): boolean {
    return this.#caller?.hasWords ?? false;
  }

  get isOver(): boolean {
    return this.#caller?.isOver ?? this.#child !== "open";
  }

  get initialize(): ControlRequest | undefined {
    return this.#caller === undefined ? this.#ahead : this.#caller.initialize;
  }

  turnTo(judge: Judge | undefined): void {
    this.#judge = judge;
    this.#caller?.turnTo(judge);
  }

  hear(ready: readonly Ready[]): void {
    this.#caller?.hear(ready);
  }

  take(ready: readonly Ready[]): readonly CallerInput[] {
    if (this.#caller !== undefined) {
      this.#onTaken?.();
      this.#onTaken = undefined;
      return this.#caller.take(ready);
    }
    if (this.#child === "open" && this.#ahead !== undefined && !this.#isAsked) {
      this.#isAsked = true;
      return [{ type: "control", request: this.#ahead }];
    }
    if (this.#child !== "closed") return [];
    this.#child = "told";
    return [{ type: "closed" }];
  }
}
