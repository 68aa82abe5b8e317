import type { StopSignal } from "../session/input.ts";

const STOP_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Collects the signals that ask a run to stop, from before its sandbox exists until that is gone again: none of
 * them ends the program by itself meanwhile, so nothing is left behind.
 */
export class StopSignals implements Disposable {
  /** Called at each arrival, while a session listens. */
  onArrival: (() => void) | undefined;
  readonly #arrived: StopSignal[] = [];
  readonly #listeners = new Map<StopSignal, () => void>();

  /** @param options.listen whether to take the signals of this process, which is so unless it is somebody else's */
  constructor({ listen = true }: { readonly listen?: boolean } = {}) {
    for (const signal of listen ? STOP_SIGNALS : []) {
      const listener = () => this.raise(signal);
      this.#listeners.set(signal, listener);
      Deno.addSignalListener(signal, listener);
    }
  }

  /** Takes a signal as if it had arrived: SIGPIPE never does by itself, because Deno ignores it. */
  raise(signal: StopSignal): void {
    this.#arrived.push(signal);
    this.onArrival?.();
  }

  /** The signals that have arrived since the last call, in order. */
  take(): readonly StopSignal[] {
    return this.#arrived.splice(0);
  }

  [Symbol.dispose](): void {
    for (const [signal, listener] of this.#listeners) Deno.removeSignalListener(signal, listener);
  }
}
