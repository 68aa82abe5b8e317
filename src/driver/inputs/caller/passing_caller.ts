import type { Interest, Ready } from "../../../../ffi/descriptors/poll.ts";
import type { ControlRequest } from "../../../claude/wire/control.ts";
import type { Caller, CallerInput, Judge } from "./caller.ts";

/** A caller that stands before another one, and is as that is but for what its kind does otherwise. */
export abstract class PassingCaller implements Caller {
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

  get hasWords(): boolean {
    return this.caller.hasWords;
  }

  get isOver(): boolean {
    return this.caller.isOver;
  }

  get initialize(): ControlRequest | undefined {
    return this.caller.initialize;
  }

  turnTo(judge: Judge | undefined): void {
    this.caller.turnTo(judge);
  }

  hear(ready: readonly Ready[]): void {
    this.caller.hear(ready);
  }

  abstract take(ready: readonly Ready[]): readonly CallerInput[];
}
