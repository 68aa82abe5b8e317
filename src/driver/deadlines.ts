import type { DeadlineName } from "../conversation/control/deadline_names.ts";

/** The deadlines that the machines have set, in milliseconds on the clock of their inputs. */
export class Deadlines {
  readonly #due = new Map<DeadlineName, number>();

  /** Sets one, in the place of the one of that name, or takes it back. */
  set(name: DeadlineName, due: number | undefined): void {
    if (due === undefined) this.#due.delete(name);
    else this.#due.set(name, due);
  }

  /** Puts all of them off but that of the run. */
  postpone(byMs: number): void {
    for (const [name, due] of this.#due) {
      if (name !== "timeout") this.#due.set(name, due + byMs);
    }
  }

  /** When the next one is due; infinity for none. */
  get next(): number {
    return Math.min(...this.#due.values());
  }

  /** Takes those that are due; one that is set or taken back meanwhile is not among them. */
  *take(now: () => number): Generator<DeadlineName> {
    for (const [name, due] of [...this.#due]) {
      if (due > now() || this.#due.get(name) !== due) continue;
      this.#due.delete(name);
      yield name;
    }
  }
}
