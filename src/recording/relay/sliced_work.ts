/** Work on what has come, which may be more than can be done at once. */
export interface SlicedWork {
  /**
   * Adds what is to be done behind all that was added before.
   *
   * @param steps does a little with each step, and yields how many bytes that took
   */
  readonly add: (steps: Iterator<number, void>) => void;
}

/** Works in slices, between which others are served. */
export interface SlicedWorker {
  /** Begins work: the first of it is done at once, as almost all answers are short. */
  readonly begin: () => SlicedWork;
  /** Waits until nothing is left of what was added. */
  readonly settled: () => Promise<void>;
  /** Does whatever is left now, and from now on all at once: it is about to be over. */
  readonly finish: () => void;
}

/** How much of some work is done as it is added, in bytes. */
const AT_ONCE = 128 * 1024;
/** How much is done in one slice, in bytes: some 20 ms where it is a stream of events without end. */
const SLICE = 32 * 1024;

/** Creates what works in slices. */
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
