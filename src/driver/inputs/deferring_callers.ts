import type { Interest, Ready } from "../../../ffi/descriptors/poll.ts";
import type { ControlRequest } from "../../claude/wire/control.ts";
import type { Caller, CallerInput, Judge } from "./callers.ts";
import type { JsonObject } from "../../json_object.ts";

/** Wraps another caller; subclasses decide when its input is read and taken. */
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
 * The caller of a child that was started before any input. When the first input arrives, it checks whether settings and
 * files have changed since the child's start. An outdated child receives only `closed`, and the input is kept for the
 * next child.
 */
export class CheckedCaller extends CallerWrapper {
  readonly #isUpToDate: () => Promise<boolean>;
  #child: "waiting" | "judged" | "good" | "outdated" | "dismissed" = "waiting";

  /** @param isUpToDate called once, when input arrives; a rejection counts as false */
  constructor(caller: Caller, isUpToDate: () => Promise<boolean>) {
    super(caller);
    this.#isUpToDate = isUpToDate;
  }

  /** Whether the child was outdated and has received `closed`. */
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
 * A caller whose input another program may still pass to a child of its own. Nothing is read or taken before that
 * program has released the input.
 */
export class CommittedCaller extends CallerWrapper {
  readonly #commit: () => Promise<void>;
  #state: "kept" | "asked" | "given" = "kept";

  /** @param options.commit called when input arrives; resolves when the other program has released it */
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
      // The other program has ended, and its owner ends the conversation.
    });
  }
}

/** The caller of a warm child. It has no input until a caller is bound to it. */
export class CallerSlot implements Caller {
  #caller: Caller | undefined;
  #onTaken: (() => void) | undefined;
  #onArrival: (() => void) | undefined;
  #onLine: ((line: string) => void) | undefined;
  #judge: Judge | undefined;
  #child: "open" | "closed" | "told" = "open";
  /** The `initialize` request that the later caller is expected to send. */
  readonly #ahead: ControlRequest | undefined;
  #isAsked = false;

  /** @param options.initialize the body of the `initialize` request that is sent in advance */
  constructor({ initialize: body }: { readonly initialize?: JsonObject | undefined } = {}) {
    if (body === undefined) return;
    this.#ahead = { id: crypto.randomUUID(), subtype: "initialize", body, ahead: true };
  }

  /**
   * Binds a caller.
   *
   * @param onTaken called before the child takes the caller's first input
   */
  bind(caller: Caller, onTaken: () => void): void {
    this.#caller = caller;
    this.#onTaken = onTaken;
    caller.attachChild(this.#judge);
    caller.onLine = this.#onLine;
    caller.onArrival = this.#onArrival;
    this.#onArrival?.();
  }

  /** Ends the input of the child. A bound caller keeps the input that has not been taken. */
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
