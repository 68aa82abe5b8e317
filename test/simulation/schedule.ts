/** What a process waits for: so many milliseconds, or that a gate is opened. */
export type Wait = number | Gate;

/** Something that takes time in the simulated world. */
export type Process = Generator<Wait, void, void>;

/** A place where processes wait until something may have changed. */
export class Gate {
  #waiting: (() => void)[] = [];

  wait(resume: () => void): void {
    this.#waiting.push(resume);
  }

  /** Lets all go on that wait here. */
  open(): void {
    for (const resume of this.#waiting.splice(0)) resume();
  }
}

/** A process that was started. */
export interface Running {
  readonly isOver: boolean;
  /** Ends it where it waits. */
  cancel(): void;
}

interface Appointment {
  readonly at: number;
  /** Of several at the same time, the one that was made first comes first. */
  readonly order: number;
  readonly run: () => void;
}

/** A clock in milliseconds, and what will happen by it. */
export class Schedule {
  now = 0;
  #made = 0;
  /** A binary heap, the next one first. */
  readonly #heap: Appointment[] = [];

  /** When the next thing happens; Infinity for never. */
  get next(): number {
    return this.#heap[0]?.at ?? Infinity;
  }

  /** Has something happen after so many milliseconds. */
  after(ms: number, run: () => void): void {
    this.at(this.now + ms, run);
  }

  /** Has something happen at a time, or now if that is past. */
  at(time: number, run: () => void): void {
    const heap = this.#heap;
    heap.push({ at: Math.max(time, this.now), order: this.#made++, run });
    for (let child = heap.length - 1; child > 0;) {
      const parent = (child - 1) >> 1;
      if (!this.#swapIfLater(parent, child)) break;
      child = parent;
    }
  }

  /** Has the next thing happen. */
  runNext(): void {
    const [first] = this.#heap;
    const last = this.#heap.pop();
    if (first === undefined || last === undefined) return;
    if (this.#heap.length > 0) {
      this.#heap[0] = last;
      this.#sink();
    }
    this.now = Math.max(this.now, first.at);
    first.run();
  }

  /** Starts a process; `onEnd` is called once it has ended by itself. */
  start(process: Process, onEnd: () => void = () => {}): Running {
    let isOver = false;
    const resume = () => {
      if (isOver) return;
      const { done, value } = process.next();
      if (done) {
        isOver = true;
        onEnd();
      } else if (typeof value === "number") this.after(value, resume);
      else value.wait(resume);
    };
    resume();
    return {
      get isOver() {
        return isOver;
      },
      cancel: () => {
        if (isOver) return;
        isOver = true;
        process.return();
      },
    };
  }

  #sink(): void {
    for (let parent = 0;;) {
      const left = 2 * parent + 1;
      const least = this.#isLater(left, left + 1) ? left + 1 : left;
      if (!this.#swapIfLater(parent, least)) return;
      parent = least;
    }
  }

  #isLater(one: number, other: number): boolean {
    const [a, b] = [this.#heap[one], this.#heap[other]];
    return a !== undefined && b !== undefined &&
      (a.at > b.at || (a.at === b.at && a.order > b.order));
  }

  #swapIfLater(one: number, other: number): boolean {
    if (!this.#isLater(one, other)) return false;
    const [a, b] = [this.#heap[one], this.#heap[other]];
    if (a === undefined || b === undefined) return false;
    this.#heap[one] = b;
    this.#heap[other] = a;
    return true;
  }
}
