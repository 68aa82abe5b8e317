import type {
  PlayEffect,
  Player,
  PlayInput,
} from "../../recording/cassette/program/play_program.ts";
import type { AnyFrame } from "../../claude/wire/any_frame.ts";

/** The caller of a recorded program. */
export interface PlayCaller {
  /** Returns the next line of the caller, or undefined at the end of its input. */
  readonly nextLine: () => Promise<string | undefined>;
  /** Prints a frame. It may be buffered. */
  readonly print: (frame: AnyFrame) => void;
  /** Returns the approximate number of buffered bytes. */
  readonly pendingSize: () => number;
  /** Writes the buffer; returns false when the reader has disconnected. */
  readonly flush: () => Promise<boolean>;
  readonly pause: (milliseconds: number) => Promise<void>;
  /** Resolves to end every wait and the play. */
  readonly stopped: Promise<unknown>;
}

export interface PlayEnding {
  readonly divergences: readonly string[];
  /** The lines that could not be compared with the tape, or only partly. */
  readonly uncompared: readonly string[];
  /** How the program ended; absent if it was stopped or its reader disconnected. */
  readonly end?: Extract<PlayEffect, { readonly type: "end" }>;
}

/** The number of bytes at which buffered output is written. */
const MAX_PENDING_SIZE = 64 * 1024;
/**
 * The maximum number of reported differences, and their maximum length in UTF-16 code units, because a caller may write
 * endlessly.
 */
const MAX_DIFFERENCES = 10_000;
const MAX_DIFFERENCE_LENGTH = 1000;
/** The maximum duration of a timer, in milliseconds. */
const MAX_PAUSE_MS = 2 ** 31 - 1;

/**
 * Plays a recorded program to its caller.
 *
 * @param options.speed the factor by which the play is faster than the recording; 0 for no pauses
 * @param options.patienceMs how long to wait for the caller's next line; 0 for no limit
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
  let unreported = 0;
  const ending = (end?: PlayEnding["end"]): PlayEnding => ({
    divergences: unreported === 0 ? divergences : [...divergences, `And ${unreported} more`],
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
          } else unreported++;
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
    // After its end, the input has no further lines.
    if (input?.type === "closed") line = new Promise(() => {});
  }
  if (player.awaited?.kind !== "stop") return ending();
  // The recorded run was also stopped. Its last frames are printed.
  for (const effect of player.receive({ type: "stopped" })) {
    if (effect.type === "emit") caller.print(effect.frame);
  }
  await caller.flush();
  return ending();
}

function shortenDifference(what: string): string {
  return what.length > MAX_DIFFERENCE_LENGTH ? `${what.slice(0, MAX_DIFFERENCE_LENGTH)}…` : what;
}

/**
 * Creates a function that awaits a promise, and returns undefined once `stopped` resolves. `Promise.race()` would leak
 * memory, because `stopped` would keep a reaction for each promise with which it ever raced.
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
