import type { Interest, Ready } from "../../../../ffi/descriptors/poll.ts";
import type { Message } from "../../../conversation/control/message.ts";
import type { CallerLine } from "../../../claude/wire/caller_line.ts";
import type { ControlAnswer, ControlRequest } from "../../../claude/wire/control.ts";

/** What the caller says, as the machines take it. */
export type CallerInput =
  | { readonly type: "message"; readonly message: Message }
  | { readonly type: "control"; readonly request: ControlRequest }
  | { readonly type: "answer"; readonly answer: ControlAnswer }
  | { readonly type: "unreadable"; readonly reason: string }
  | { readonly type: "closed" };

/** Says of a message how it reaches the child, if it does. */
export type Judge = (line: Extract<CallerLine, { readonly type: "user" }>) => Message;

/** Whoever speaks in a conversation. */
export interface Caller {
  /** Called when something is said of which no fd tells, while somebody listens. */
  onArrival: (() => void) | undefined;
  /** Takes each line that is said, before what is made of it is taken. */
  onLine: ((line: string) => void) | undefined;
  /** What to wait for. */
  readonly interests: readonly Interest[];
  /** Whether something was said that has not been taken. */
  readonly hasWords: boolean;
  /** Whether there is nothing to take any more, and never will be. */
  readonly isOver: boolean;
  /** The first request of the control protocol, once it has been said before anything else: it decides how a child starts. */
  readonly initialize: ControlRequest | undefined;
  /** Begins to speak to a child, to which the end of all words is news. */
  turnTo(judge: Judge | undefined): void;
  /** Goes on with what a wait found. */
  hear(ready: readonly Ready[]): void;
  /** What was said since the last time, and that it was all. */
  take(ready: readonly Ready[]): readonly CallerInput[];
}
