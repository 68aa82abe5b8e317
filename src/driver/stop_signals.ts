import { listenToSignals } from "../../ffi/processes/own_signals.ts";
import { STOP_SIGNALS, type StopSignal } from "../claude/wire/stop_signal.ts";

/** SIGPIPE never arrives by itself, because Deno ignores it. */
const LISTENED = (Object.keys(STOP_SIGNALS) as StopSignal[]).filter((name) => name !== "SIGPIPE");
/** What the kernel sends anew with every second of CPU time, and every write, beyond a limit counts once. */
const REPEATED: readonly StopSignal[] = ["SIGXCPU", "SIGXFSZ"];

/**
 * Collects the signals that ask a run to stop, from before its sandbox exists until that is gone again: none of
 * them ends the program by itself meanwhile, so nothing is left behind.
 */
export class StopSignals implements Disposable {
  /** Called at each arrival, while a session listens. */
  onArrival: (() => void) | undefined;
  readonly #arrived: StopSignal[] = [];
  readonly #repeated = new Set<StopSignal>();
  readonly #listening: Disposable | undefined;
  #pause: PromiseWithResolvers<void> | undefined;

  /** @param options.listen whether to take the signals of this process, which is so unless it is somebody else's */
  constructor({ listen = true }: { readonly listen?: boolean } = {}) {
    if (listen) this.#listening = listenToSignals(LISTENED, (signal) => this.raise(signal));
  }

  /** Whether the signals of this process are this program's to take. */
  get areOurs(): boolean {
    return this.#listening !== undefined;
  }

  /** Takes a signal as if it had arrived. */
  raise(signal: StopSignal): void {
    if (this.#repeated.has(signal)) return;
    if (REPEATED.includes(signal)) this.#repeated.add(signal);
    this.#arrived.push(signal);
    this.onArrival?.();
  }

  /** Gives back one that was taken and had no effect: it is the first that is taken next. */
  giveBack(signal: StopSignal): void {
    this.#arrived.unshift(signal);
  }

  /** The signals that have arrived since the last call, in order. */
  take(): readonly StopSignal[] {
    return this.#arrived.splice(0);
  }

  /** Where the run is another program's: has it stand still, as that does that was stopped. */
  pause(): void {
    this.#pause ??= Promise.withResolvers();
  }

  /** Has it go on. */
  resume(): void {
    this.#pause?.resolve();
    this.#pause = undefined;
  }

  /** Resolves once it may go on; absent as long as it does. */
  get paused(): Promise<void> | undefined {
    return this.#pause?.promise;
  }

  [Symbol.dispose](): void {
    this.#listening?.[Symbol.dispose]();
  }
}
