import type { Frame } from "../claude/wire/frame.ts";

/** Frames on their way from a run to whoever asks for them, in order; none waits for the other. */
export interface FrameQueue {
  /** Takes a frame. */
  readonly push: (frame: Frame) => void;
  /** Takes word that there are no more frames; what went wrong is told once, after the last of them. */
  readonly end: (failure?: { readonly error: unknown }) => void;
  /** Forgets the frames that nobody has asked for yet, and those to come. */
  readonly drop: () => void;
  /** The next frame, as soon as there is one. */
  readonly next: () => Promise<IteratorResult<Frame, undefined>>;
}

type Taker = PromiseWithResolvers<IteratorResult<Frame, undefined>>;

const DONE = { done: true, value: undefined } as const;

/** An empty queue. */
export function frameQueue(): FrameQueue {
  let frames: Frame[] = [];
  const takers: Taker[] = [];
  let failure: { readonly error: unknown } | undefined;
  let ended = false;
  let dropped = false;
  return {
    push: (frame) => {
      if (ended || dropped) return;
      const taker = takers.shift();
      if (taker === undefined) frames.push(frame);
      else taker.resolve({ done: false, value: frame });
    },
    end: (reason) => {
      ended = true;
      const [first, ...others] = takers.splice(0);
      if (first === undefined) failure = dropped ? undefined : reason;
      else if (reason === undefined) first.resolve(DONE);
      else first.reject(reason.error);
      for (const taker of others) taker.resolve(DONE);
    },
    drop: () => {
      dropped = true;
      frames = [];
      failure = undefined;
      for (const taker of takers.splice(0)) taker.resolve(DONE);
    },
    next: async () => {
      const frame = frames.shift();
      if (frame !== undefined) return { done: false, value: frame };
      if (failure !== undefined) {
        const { error } = failure;
        failure = undefined;
        throw error;
      }
      if (ended || dropped) return DONE;
      const taker: Taker = Promise.withResolvers();
      takers.push(taker);
      return await taker.promise;
    },
  };
}
