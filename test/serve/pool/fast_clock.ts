/** A timer of the program under test. */
interface Due {
  readonly at: number;
  readonly ms: number;
  readonly call: () => void;
}

/** A clock that goes as fast as it can: the time of this thread, and its timers, are its own until it is disposed. */
export class FastClock implements Disposable {
  readonly #begun: number;
  readonly #timers = new Map<number, Due>();
  readonly #undo: () => void;
  #now = 0;
  #ids = 1_000_000;

  /** @param begun what time it is at first, in milliseconds since the epoch */
  constructor(begun: number) {
    this.#begun = begun;
    const { setTimeout, clearTimeout, Date } = globalThis;
    const { now } = performance;
    const add = (call: () => void, ms = 0) => {
      this.#timers.set(++this.#ids, { at: this.#now + ms, ms, call });
      return this.#ids;
    };
    Object.assign(globalThis, {
      setTimeout: add,
      clearTimeout: (id?: number) => id !== undefined && this.#timers.delete(id),
      // Times that are told go through; whoever asks for none is told the clock's.
      Date: new Proxy(Date, {
        construct: (target, args) =>
          args.length === 0 ? new Date(this.#epoch) : Reflect.construct(target, args),
        get: (target, name) => name === "now" ? () => this.#epoch : Reflect.get(target, name),
      }),
    });
    performance.now = () => this.#now;
    this.#undo = () => {
      Object.assign(globalThis, { setTimeout, clearTimeout, Date });
      performance.now = now;
    };
  }

  /** The time, in milliseconds since the epoch. */
  get #epoch(): number {
    return this.#begun + this.#now;
  }

  /** How long each timer that there is was to wait, in milliseconds. */
  get waits(): readonly number[] {
    return [...this.#timers.values()].map(({ ms }) => ms);
  }

  /**
   * Lets time pass.
   *
   * @param options.settled to be awaited after each timer: what comes of it has come about
   */
  async pass(ms: number, settled: () => Promise<void>): Promise<void> {
    const until = this.#now + ms;
    for (;;) {
      const [next] = [...this.#timers].sort(([, one], [, other]) => one.at - other.at);
      if (next === undefined || next[1].at > until) break;
      const [id, { at, call }] = next;
      this.#timers.delete(id);
      this.#now = Math.max(this.#now, at);
      call();
      await settled();
    }
    this.#now = until;
  }

  [Symbol.dispose](): void {
    this.#undo();
  }
}
