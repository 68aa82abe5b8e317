import { listenToSignals } from "../../ffi/processes/own_signals.ts";
import { endRunProcesses } from "../sandbox/processes/run_processes.ts";
import type { Sandbox } from "../sandbox/folder/sandbox.ts";

/** Exit code of a program that SIGQUIT ends. */
const QUIT = 131;

/** What stands between a child and the API. */
interface OwnedRelay extends Disposable {
  /** What went wrong with it, in a sentence each. */
  readonly troubles: () => readonly string[];
  /** Waits until all that has come is written down. */
  readonly settled: () => Promise<void>;
  /** Writes down now what is still to be written. */
  readonly finish: () => void;
}

/**
 * The one way in which a run leaves nothing behind, reached from every end of this program but SIGKILL: the
 * normal end, `Deno.exit`, an uncaught error, an unhandled rejection and SIGQUIT. The signals of `StopSignals`
 * end the run, and so get there too.
 *
 * Deno 2.9.6 dispatches `unload` at `Deno.exit` and at the natural end, but not for a signal, an uncaught error or
 * an unhandled rejection, and disposes nothing then. Everything here is synchronous, since none of them waits.
 */
export class Teardown implements Disposable {
  readonly #warn: (text: string) => void;
  readonly #onCrash: ((error: unknown) => void) | undefined;
  readonly #quitting: Disposable | undefined;
  #sandbox: Sandbox | undefined;
  #relay: OwnedRelay | undefined;
  #save: (() => string | undefined) | undefined;
  #crashed = false;
  #childEnded = false;

  /**
   * @param options.warn takes a sentence for each thing that could not be done, whatever end it is
   * @param options.onCrash takes what nobody caught, once nothing is left behind: it has to end the program. Without it
   * the program is somebody else's, and only its `Deno.exit` is listened for
   */
  constructor(
    { warn, onCrash }: {
      readonly warn: (text: string) => void;
      readonly onCrash?: (error: unknown) => void;
    },
  ) {
    this.#warn = warn;
    this.#onCrash = onCrash;
    addEventListener("unload", this.#onUnload);
    if (onCrash === undefined) return;
    addEventListener("error", this.#onError);
    addEventListener("unhandledrejection", this.#onRejection);
    this.#quitting = listenToSignals(["SIGQUIT"], this.#onQuit);
  }

  /** Whether something was not caught: the run is over, whatever its parts still report. */
  get crashed(): boolean {
    return this.#crashed;
  }

  /**
   * From now on this sandbox is brought home and removed at the end, and what runs in it ended, and so is what stands
   * between its child and the API.
   */
  own({ sandbox, relay }: { readonly sandbox: Sandbox; readonly relay?: OwnedRelay }): void {
    this.#sandbox = sandbox;
    this.#relay = relay;
    this.#childEnded = false;
  }

  /** Leaves to another one what there is to be brought home, removed and ended. */
  passTo(other: Pick<Teardown, "own">): void {
    const [sandbox, relay] = [this.#sandbox, this.#relay];
    [this.#sandbox, this.#relay] = [undefined, undefined];
    if (sandbox !== undefined) other.own({ sandbox, ...(relay === undefined ? {} : { relay }) });
  }

  /**
   * From now on this is called at the end, before anything else, to write down what is to be kept of the run; it says
   * in a sentence what could not be written.
   */
  keep(save: () => string | undefined): void {
    this.#save = save;
  }

  /** The child is gone, and so is what has to go with it: what else it left running stays, as with `claude -p`. */
  childEnded(): void {
    this.#childEnded = true;
  }

  /** Waits until nothing is left to be written but at the end itself: meanwhile others of this program are served. */
  async settle(): Promise<void> {
    await this.#relay?.settled();
  }

  /**
   * Brings home what a child leaves whose end is all that is still to come, and leaves its session to others.
   *
   * @returns whether it is there; if not, it is brought home at the end, and so where something else is waited for
   */
  bringHome(): boolean {
    return this.#sandbox !== undefined && this.#relay === undefined && this.#save === undefined &&
      this.#sandbox.bringHome();
  }

  /**
   * Keeps what is to be kept, ends the child and its tools, forwards the transcript and removes the folder, but for
   * transcripts that could not be forwarded; a second call does nothing.
   */
  run(): void {
    const save = this.#save;
    this.#save = undefined;
    this.#relay?.finish();
    const unsaved = save?.();
    if (unsaved !== undefined) this.#warn(unsaved);
    this.#tearDown();
  }

  #tearDown(): void {
    const sandbox = this.#sandbox;
    this.#sandbox = undefined;
    for (const trouble of this.#relay?.troubles() ?? []) this.#warn(trouble);
    this.#relay?.[Symbol.dispose]();
    this.#relay = undefined;
    if (sandbox === undefined) return;
    if (!this.#childEnded) endRunProcesses({ configDir: sandbox.configDir });
    const { left, failures: [failure, ...others] } = sandbox.forward();
    const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
    const kept = left === 0 ? undefined : sandbox.keep();
    const place = kept === undefined
      ? ""
      : `; it is kept in ${kept}, and the next run or claude-print sweep tries again`;
    if (failure !== undefined) this.#warn(`${failure}${more}${place}`);
    if (kept !== undefined) return;
    const problem = sandbox.remove();
    if (problem !== undefined) {
      this.#warn(`Cannot remove the run's private folder ${sandbox.path}: ${problem.message}`);
    }
  }

  /** Tears down what is not torn down yet, and leaves the ends of this program to others. */
  [Symbol.dispose](): void {
    this.run();
    removeEventListener("unload", this.#onUnload);
    if (this.#onCrash === undefined) return;
    removeEventListener("error", this.#onError);
    removeEventListener("unhandledrejection", this.#onRejection);
    this.#quitting?.[Symbol.dispose]();
  }

  readonly #onUnload = () => this.run();
  readonly #onQuit = () => {
    this.run();
    Deno.exit(QUIT);
  };
  readonly #onError = (event: ErrorEvent) => this.#crash(event, event.error);
  readonly #onRejection = (event: PromiseRejectionEvent) => this.#crash(event, event.reason);

  #crash(event: Event, error: unknown): void {
    event.preventDefault();
    this.#crashed = true;
    this.run();
    this.#onCrash?.(error);
  }
}
