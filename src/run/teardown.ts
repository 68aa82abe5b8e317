import { listenToSignals } from "../../ffi/processes/own_signals.ts";
import { endRunProcesses } from "../sandbox/run_processes.ts";
import { definedFields } from "../defined_fields.ts";
import type { ApiRelay } from "./api_relay.ts";
import type { Sandbox } from "../sandbox/folder/sandbox.ts";
import { SIGNALS } from "../../ffi/processes/signals.ts";
import { EXIT } from "../cli_error.ts";

type OwnedRelay = Pick<ApiRelay, "problems" | "settled" | "finish" | typeof Symbol.dispose>;

/**
 * Removes the files and processes that a run would leave behind, at every end of this program except SIGKILL: the
 * normal end, `Deno.exit`, an uncaught error, an unhandled rejection and SIGQUIT. The signals of `StopSignals` end the
 * run, so they also lead here.
 *
 * Deno 2.9.6 dispatches `unload` at `Deno.exit` and at the normal end. For a signal, an uncaught error or an unhandled
 * rejection, it does not, and disposes nothing. All steps are synchronous, because Deno never waits at these ends.
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
   * @param options.warn receives a sentence for each step that failed
   * @param options.onCrash receives an uncaught error after the teardown, and has to end the program. Leave it out in a
   * library: then only `Deno.exit` and the normal end are handled
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

  /** Whether an uncaught error has ended the run. */
  get crashed(): boolean {
    return this.#crashed;
  }

  /** Takes responsibility for a run: for its sandbox, its processes, and its relay. */
  own({ sandbox, relay }: { readonly sandbox: Sandbox; readonly relay?: OwnedRelay }): void {
    this.#sandbox = sandbox;
    this.#relay = relay;
    this.#childEnded = false;
  }

  /** Passes the responsibility for the run to another teardown. */
  passTo(other: Pick<Teardown, "own">): void {
    const [sandbox, relay] = [this.#sandbox, this.#relay];
    [this.#sandbox, this.#relay] = [undefined, undefined];
    if (sandbox !== undefined) other.own({ sandbox, ...definedFields({ relay }) });
  }

  /**
   * Calls a function before all other steps at the end, to save a recording. The function returns a sentence if it
   * fails.
   */
  saveAtEnd(save: () => string | undefined): void {
    this.#save = save;
  }

  /** Call this when the child has ended. Processes that it left running then stay, as with `claude -p`. */
  childEnded(): void {
    this.#childEnded = true;
  }

  /** Waits until the relay has written its recording. Otherwise {@linkcode run} writes it and blocks this program. */
  async settle(): Promise<void> {
    await this.#relay?.settled();
  }

  /**
   * Moves the transcript to the user's config dir before the child has exited, so that other programs can resume the
   * session.
   *
   * @returns whether that is done; if not, {@linkcode run} does it
   */
  bringHome(): boolean {
    return this.#sandbox !== undefined && this.#relay === undefined && this.#save === undefined &&
      this.#sandbox.forwardAndRelease();
  }

  /**
   * Saves the recording, ends the child and its tools, moves the transcript to the user's config dir and removes the
   * folder. Transcripts that cannot be moved stay in the folder. A second call does nothing.
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
    for (const problem of this.#relay?.problems() ?? []) this.#warn(problem);
    this.#relay?.[Symbol.dispose]();
    this.#relay = undefined;
    if (sandbox === undefined) return;
    if (!this.#childEnded) endRunProcesses({ configDir: sandbox.configDir });
    const { left, failures: [failure, ...others] } = sandbox.forward();
    const keptIn = left === 0 ? undefined : sandbox.keep();
    if (failure !== undefined) {
      const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
      const remedy = keptIn === undefined
        ? ""
        : `; it is kept in ${keptIn}, and the next run or claude-print sweep tries again`;
      this.#warn(`${failure}${more}${remedy}`);
    }
    if (keptIn !== undefined) return;
    const problem = sandbox.remove();
    if (problem !== undefined) {
      this.#warn(`Cannot remove the run's private folder ${sandbox.path}: ${problem.message}`);
    }
  }

  /** Runs the teardown, and stops listening for ends of this program. */
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
    Deno.exit(EXIT.signal + SIGNALS.SIGQUIT);
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
