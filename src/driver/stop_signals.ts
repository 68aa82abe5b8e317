import { listenToSignals } from "../../ffi/processes/own_signals.ts";
import { STOP_SIGNALS, type StopSignal } from "../claude/wire/stop_signal.ts";

/** SIGPIPE never arrives from the kernel, because Deno ignores it. */
const LISTENED = (Object.keys(STOP_SIGNALS) as StopSignal[]).filter((name) => name !== "SIGPIPE");
/** The kernel sends these signals at every second of CPU time, or every write, beyond a limit. They count once. */
const REPEATED: readonly StopSignal[] = ["SIGXCPU", "SIGXFSZ"];

/**
 * Collects the signals that ask a run to stop. It listens from before the sandbox is created until it is removed. In
 * this time no such signal ends the program directly, so nothing is left behind.
 */
export class StopSignals implements Disposable {
  /** Called at each arrival, while a session listens. */
  onArrival: (() => void) | undefined;
  readonly #arrived: StopSignal[] = [];
  readonly #repeated = new Set<StopSignal>();
  readonly #listening: Disposable | undefined;
  #pause: PromiseWithResolvers<void> | undefined;

  /** @param options.listen whether to receive the signals of this process; false if the process is another program's */
  constructor({ listen = true }: { readonly listen?: boolean } = {}) {
    if (listen) this.#listening = listenToSignals(LISTENED, (signal) => this.raise(signal));
  }

  /** Whether this object receives the signals of the process. */
  get areOurs(): boolean {
    return this.#listening !== undefined;
  }

  /** Acts as if a signal had arrived. */
  raise(signal: StopSignal): void {
    if (this.#repeated.has(signal)) return;
    if (REPEATED.includes(signal)) this.#repeated.add(signal);
    this.#arrived.push(signal);
    this.onArrival?.();
  }

  /** Returns a taken signal that had no effect. It is the first signal of the next call of `take`. */
  giveBack(signal: StopSignal): void {
    this.#arrived.unshift(signal);
  }

  /** Takes the signals since the last call, in order. */
  take(): readonly StopSignal[] {
    return this.#arrived.splice(0);
  }

  /** Pauses the run, because the program for which it runs was suspended. */
  pause(): void {
    this.#pause ??= Promise.withResolvers();
  }

  /** Ends a pause. */
  resume(): void {
    this.#pause?.resolve();
    this.#pause = undefined;
  }

  /** Resolves when the pause ends; undefined without a pause. */
  get paused(): Promise<void> | undefined {
    return this.#pause?.promise;
  }

  [Symbol.dispose](): void {
    this.#listening?.[Symbol.dispose]();
  }
}
