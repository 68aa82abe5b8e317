/** A queue of work. */
export interface SlicedWork {
  /**
   * Adds work to the end of the queue.
   *
   * @param steps does a small part in each step, and yields how many bytes it has processed
   */
  readonly add: (steps: Iterator<number, void>) => void;
}

/** Works in short slices, so that requests are served between them. */
export interface SlicedWorker {
  /**
   * Creates a queue of work. The first 128 kB are processed at once and not in slices: almost all responses are
   * shorter.
   */
  readonly begin: () => SlicedWork;
  /** Waits until all queues are empty. */
  readonly settled: () => Promise<void>;
  /** Does all remaining work now, and later work immediately, because the program is about to exit. */
  readonly finish: () => void;
}

/** The number of bytes of a queue that are processed at once, without slices. */
const AT_ONCE = 128 * 1024;
/** The number of bytes that are processed in one slice: some 20 ms for an event stream. */
const SLICE = 32 * 1024;

export function createSlicedWorker(): SlicedWorker {
  const unfinished = new Set<{ readonly goOn: (most: number) => void }>();
  let isOver = false;
  let onSettled: (() => void)[] = [];
  const end = (work: Parameters<typeof unfinished.delete>[0]) => {
    unfinished.delete(work);
    if (unfinished.size > 0) return;
    for (const settle of onSettled) settle();
    onSettled = [];
  };
  return {
    begin: () => {
      const waiting: Iterator<number, void>[] = [];
      let left = AT_ONCE;
      let timer: ReturnType<typeof setTimeout> | undefined;
      const work = {
        goOn: (most: number) => {
          clearTimeout(timer);
          timer = undefined;
          for (let done = 0; done < most;) {
            const step = waiting[0]?.next();
            if (step === undefined) break;
            if (step.done === true) waiting.shift();
            else {
              done += step.value;
              left -= step.value;
            }
          }
          if (waiting.length === 0) end(work);
          else {
            unfinished.add(work);
            timer = setTimeout(() => work.goOn(SLICE), 0);
          }
        },
      };
      return {
        add: (steps) => {
          waiting.push(steps);
          if (isOver) work.goOn(Infinity);
          else if (timer === undefined) work.goOn(left);
        },
      };
    },
    settled: () =>
      unfinished.size === 0
        ? Promise.resolve()
        : new Promise((resolve) => void onSettled.push(resolve)),
    finish: () => {
      isOver = true;
      for (const work of [...unfinished]) work.goOn(Infinity);
    },
  };
}
