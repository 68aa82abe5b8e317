import type { StopSignal } from "../session/input.ts";

const STOP_SIGNALS: readonly StopSignal[] = ["SIGINT", "SIGTERM", "SIGHUP"];

/**
 * Collects the signals that ask a run to stop, from before its sandbox exists until that is gone again: none of
 * them ends the program by itself meanwhile, so nothing is left behind.
 */
export class StopSignals implements Disposable {
  /** Called at each arrival, while a session listens. */
  onArrival: (() => void) | undefined;
  readonly #arrived: StopSignal[] = [];
  readonly #listeners = new Map<StopSignal, () => void>();

  constructor() {
    for (const signal of STOP_SIGNALS) {
      const listener = () => {
        this.#arrived.push(signal);
        this.onArrival?.();
      };
      this.#listeners.set(signal, listener);
      Deno.addSignalListener(signal, listener);
    }
  }

  /** The signals that have arrived since the last call, in order. */
  take(): readonly StopSignal[] {
    return this.#arrived.splice(0);
  }

  [Symbol.dispose](): void {
    for (const [signal, listener] of this.#listeners) Deno.removeSignalListener(signal, listener);
  }
}
