import type {
  PlayEffect,
  Player,
  PlayInput,
} from "../../recording/cassette/program/play_program.ts";
import type { AnyFrame } from "../../claude/wire/any_frame.ts";

/** What a play has to do with the world. */
export interface PlayCaller {
  /** Lines that the caller writes, and undefined at the end of its input. */
  readonly nextLine: () => Promise<string | undefined>;
  /** Says a frame; it may be kept for a while. */
  readonly print: (frame: AnyFrame) => void;
  /** How many bytes or so are kept of what was said. */
  readonly pendingSize: () => number;
  /** Sends what is kept on its way; false when nobody reads any more. */
  readonly flush: () => Promise<boolean>;
  /** Waits so many milliseconds. */
  readonly pause: (milliseconds: number) => Promise<void>;
  /** Ends what waits, and the play with it. */
  readonly stopped: Promise<unknown>;
}

/** What became of a play. */
export interface PlayEnding {
  readonly divergences: readonly string[];
  /** What could not be compared with the tape, or not in whole. */
  readonly uncompared: readonly string[];
  /** How the program ended; absent where it was stopped, or nobody read on. */
  readonly end?: Extract<PlayEffect, { readonly type: "end" }>;
}

/** What is said at once is written in pieces of about so many bytes. */
const MAX_PENDING_SIZE = 64 * 1024;
/** So many differences are told, each in so many UTF-16 units: a caller may write without an end. */
const MAX_DIFFERENCES = 10_000;
const MAX_DIFFERENCE_LENGTH = 1000;
/** The longest pause that a timer knows, in milliseconds. */
const MAX_PAUSE_MS = 2 ** 31 - 1;

/**
 * Plays a program to whoever calls it.
 *
 * @param options.speed how much faster than recorded; 0 for without any pause
 * @param options.patienceMs how long the caller has for what is its turn; 0 for as long as it wants
 */
export async function playToCaller(
  player: Player,
  { caller, speed, patienceMs }: {
    readonly caller: PlayCaller;
    readonly speed: number;
    readonly patienceMs: number;
  },
): Promise<PlayEnding> {
  const divergences: string[] = [];
  const uncompared: string[] = [];
  let untold = 0;
  const ending = (end?: PlayEnding["end"]): PlayEnding => ({
    divergences: untold === 0 ? divergences : [...divergences, `And ${untold} more`],
    uncompared,
    ...(end === undefined ? {} : { end }),
  });
  let input: PlayInput | undefined = { type: "start" };
  let line: Promise<PlayInput> | undefined;
  const orStopped = createStoppableWait(caller.stopped);
  const isRead = async () => await orStopped(caller.flush()) === true;
  while (input !== undefined) {
    for (const effect of player.receive(input)) {
      switch (effect.type) {
        case "divergence":
          if (divergences.length < MAX_DIFFERENCES) {
            divergences.push(shortenDifference(effect.what));
          } else untold++;
          break;
        case "uncompared":
          if (uncompared.length < MAX_DIFFERENCES) uncompared.push(shortenDifference(effect.what));
          break;
        case "emit": {
          const pauseMs = speed === 0 ? 0 : Math.min(effect.pauseMs / speed, MAX_PAUSE_MS);
          if (pauseMs > 0 || caller.pendingSize() > MAX_PENDING_SIZE) {
            if (!await isRead()) return ending();
            if (pauseMs > 0) await orStopped(caller.pause(pauseMs));
          }
          caller.print(effect.frame);
          break;
        }
        case "end":
          return await isRead() ? ending(effect) : ending();
      }
    }
    if (!await isRead()) return ending();
    line ??= caller.nextLine().then((text) =>
      text === undefined ? { type: "closed" } : { type: "line", line: text }
    );
    using patience = patienceMs > 0 && player.isCallerDue ? startPatience(patienceMs) : undefined;
    input = await orStopped(
      patience === undefined ? line : Promise.race([line, patience.over]),
    );
    if (input?.type === "line") line = undefined;
    // Behind its end nothing is written any more.
    if (input?.type === "closed") line = new Promise(() => {});
  }
  if (player.awaited?.kind !== "stop") return ending();
  // What was recorded ended like this: the rest of it is said.
  for (const effect of player.receive({ type: "stopped" })) {
    if (effect.type === "emit") caller.print(effect.frame);
  }
  await caller.flush();
  return ending();
}

/** What is told names what the caller or the tape has written, however long that is. */
function shortenDifference(what: string): string {
  return what.length > MAX_DIFFERENCE_LENGTH ? `${what.slice(0, MAX_DIFFERENCE_LENGTH)}…` : what;
}

/**
 * Creates what waits for a promise or until something else is, then for nothing. `Promise.race()` leaves behind in the one
 * that is not settled whatever it has ever raced with.
 */
function createStoppableWait(
  stopped: Promise<unknown>,
): <Value>(wait: Promise<Value>) => Promise<Value | undefined> {
  let isStopped = false;
  let stop = () => {};
  stopped.then(() => {
    isStopped = true;
    stop();
  });
  return async <Value>(wait: Promise<Value>) => {
    if (isStopped) {
      wait.catch(() => {});
      return undefined;
    }
    return await new Promise<Value | undefined>((resolve, reject) => {
      stop = () => resolve(undefined);
      wait.then(resolve, reject);
    });
  };
}

function startPatience(
  milliseconds: number,
): Disposable & { readonly over: Promise<PlayInput> } {
  const { promise, resolve } = Promise.withResolvers<PlayInput>();
  const timer = setTimeout(() => resolve({ type: "timeout" }), milliseconds);
  return { over: promise, [Symbol.dispose]: () => clearTimeout(timer) };
}
