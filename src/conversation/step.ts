/**
 * One call of the core: a state that changes, and what is emitted because of it, in order.
 *
 * A step copies the state that it is given before it changes anything, so whoever holds the state before the call can
 * compare it with the state after it.
 */
export class Step<State extends object, Emitted> {
  #state: State;
  #isCopied = false;
  #emitted: Emitted[] = [];

  /** @param state the state before the call, which does not change */
  constructor(state: State) {
    this.#state = state;
  }

  /** The state by now. The next `update` changes the same object: keep its fields, not the object. */
  get state(): Readonly<State> {
    return this.#state;
  }

  /** What has been emitted so far, the first first. */
  get emitted(): readonly Emitted[] {
    return this.#emitted;
  }

  /** Changes fields of the state. */
  update(changes: Partial<State>): void {
    if (!this.#isCopied) {
      this.#state = { ...this.#state };
      this.#isCopied = true;
    }
    Object.assign(this.#state, changes);
  }

  /** Emits effects or frames after those that were emitted before. */
  emit(...emitted: readonly Emitted[]): void {
    this.#emitted.push(...emitted);
  }

  /** Returns what is emitted during a call, in place of emitting it. */
  capture(use: () => void): Emitted[] {
    const before = this.#emitted;
    this.#emitted = [];
    use();
    const captured = this.#emitted;
    this.#emitted = before;
    return captured;
  }

  /** Returns a step with the same state, of which nothing is taken over unless it is adopted. */
  fork(): Step<State, Emitted> {
    return new Step<State, Emitted>({ ...this.#state });
  }

  /** Takes over the state of a fork, and emits what it has emitted. */
  adopt(fork: Step<State, Emitted>): void {
    this.#state = fork.state as State;
    this.#isCopied = true;
    this.emit(...fork.emitted);
  }

  /** Puts another state in the place of this one. */
  replace(state: State): void {
    this.#state = state;
    this.#isCopied = false;
  }
}
