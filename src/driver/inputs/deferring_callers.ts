import type { Interest, Ready } from "../../../ffi/descriptors/poll.ts";
import type { ControlRequest } from "../../claude/wire/control.ts";
import type { Caller, CallerInput, Judge } from "./callers.ts";
import type { JsonObject } from "../../json_object.ts";

/** A caller that stands before another one, and is as that is but for what its kind does otherwise. */
abstract class CallerWrapper implements Caller {
  protected readonly caller: Caller;

  constructor(caller: Caller) {
    this.caller = caller;
  }

  get onArrival(): (() => void) | undefined {
    return this.caller.onArrival;
  }

  set onArrival(listener: (() => void) | undefined) {
    this.caller.onArrival = listener;
  }

  get onLine(): ((line: string) => void) | undefined {
    return this.caller.onLine;
  }

  set onLine(listener: ((line: string) => void) | undefined) {
    this.caller.onLine = listener;
  }

  get interests(): readonly Interest[] {
    return this.caller.interests;
  }

  get hasInput(): boolean {
    return this.caller.hasInput;
  }

  get isFinished(): boolean {
    return this.caller.isFinished;
  }

  get initialize(): ControlRequest | undefined {
    return this.caller.initialize;
  }

  attachChild(judge: Judge | undefined): void {
    this.caller.attachChild(judge);
  }

  read(ready: readonly Ready[]): void {
    this.caller.read(ready);
  }

  abstract take(ready: readonly Ready[]): readonly CallerInput[];
}

/**
 * The caller of a child that was started before anything was said. The child gets the first words once it is known that
 * it has been told nothing that has changed since; one that is outdated is told that there is nothing to be said, and the
 * words stay for the next one.
 */
export class CheckedCaller extends CallerWrapper {
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
    this.read(ready);
    if (this.#child === "waiting" && this.caller.hasInput) this.#judge();
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

/**
 * A caller whose words another program could still take to a child of its own: nothing is read or taken of them before it
 * has given them away.
 */
export class CommittedCaller extends CallerWrapper {
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

  override get isFinished(): boolean {
    return this.#state === "given" && this.caller.isFinished;
  }

  override read(ready: readonly Ready[]): void {
    if (this.#state === "given") return this.caller.read(ready);
    const fds = this.caller.interests.map(({ fd }) => fd);
    if (ready.some(({ fd }) => fds.includes(fd))) this.#ask();
  }

  override take(ready: readonly Ready[]): readonly CallerInput[] {
    if (this.#state === "given") return this.caller.take(ready);
    this.read(ready);
    if (this.caller.hasInput) this.#ask();
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

/**
 * The place of a caller that a child waits for without knowing whose it will be: nothing is said until somebody takes it.
 */
export class CallerSlot implements Caller {
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
    caller.attachChild(this.#judge);
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

  get hasInput(): boolean {
    return this.#caller?.hasInput ?? false;
  }

  get isFinished(): boolean {
    return this.#caller?.isFinished ?? this.#child !== "open";
  }

  get initialize(): ControlRequest | undefined {
    return this.#caller === undefined ? this.#ahead : this.#caller.initialize;
  }

  attachChild(judge: Judge | undefined): void {
    this.#judge = judge;
    this.#caller?.attachChild(judge);
  }

  read(ready: readonly Ready[]): void {
    this.#caller?.read(ready);
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
