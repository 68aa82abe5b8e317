import { CallerSlot } from "../../driver/inputs/deferring_callers.ts";
import type { RunRequest } from "../../cli/arguments/run_request.ts";
import type { LateTerms } from "../../conversation/control/session_options.ts";
import type { Child } from "../../driver/start_child.ts";
import { OWN_TERMINAL } from "../../driver/user_terminal.ts";
import { StopSignals } from "../../driver/stop_signals.ts";
import type { holdConversation, HoldOptions } from "../../library/hold_conversation.ts";
import { type Surroundings, watchSurroundings } from "../../run/facts/surroundings.ts";
import type { PreparedRun } from "../../run/prepare_run.ts";
import { Teardown } from "../../run/teardown.ts";
import type { Outlet } from "../../../ffi/descriptors/outlet.ts";
import type { ShownTerminal } from "../../driver/child_terminal.ts";
import type { Input } from "../../conversation/control/input.ts";
import { type ChildProfile, createLateTerms } from "../server_profiles.ts";

/** The result of using a warm child. */
type ServeResult =
  /** The child served the conversation to its end. */
  | { readonly kind: "served"; readonly exitCode: number }
  /** The child ended before it took the first message, so another child can serve the conversation. */
  | { readonly kind: "gone" };

interface WarmChildOptions {
  readonly hold: typeof holdConversation;
  /** How long a ready child runs before it is suspended with SIGSTOP, in milliseconds. */
  readonly sleepAfterMs: number;
  /** Called when the child can take a message. */
  readonly onReady: () => void;
  /** Called when its owner's first message is about to reach the child. */
  readonly onTaken: () => void;
  /** Called when the child has ended, with the reason if it was not asked to end. */
  readonly onEnded: (problem: string | undefined) => void;
}

/**
 * A started child that waits for the first message of one conversation.
 *
 * The caller that takes it becomes its owner when the caller's first message is passed on. Earlier events are buffered,
 * and forwarded to the owner at that time. A child without an owner belongs to the pool, with a teardown of its own.
 */
export class WarmChild {
  readonly profile: ChildProfile;
  /** When the child was started, in milliseconds since the epoch. */
  readonly openedAt = Date.now();
  readonly #caller: CallerSlot;
  readonly #signals = new LateSignals({ listen: false });
  readonly #outlets: Outlet[] = [];
  readonly #startedAt = performance.now();
  /** Calls for the future owner, in order. */
  readonly #buffered: ((owner: HoldOptions) => void)[] = [];
  readonly #ended: Promise<number>;
  readonly #options: WarmChildOptions;
  #teardown: Teardown | undefined = new Teardown({ warn: (text) => void (this.#problem ??= text) });
  #prepared: PreparedRun | undefined;
  #surroundings: Surroundings | undefined;
  /** The caller that has taken the child, from the caller's first message on. */
  #owner: HoldOptions | undefined;
  #terms: LateTerms | undefined;
  #child: Pick<Child, "signal"> | undefined;
  /** The timer that suspends the child after `sleepAfterMs`. */
  #sleepTimer: ReturnType<typeof setTimeout> | undefined;
  /** Whether the child is suspended. */
  #isSleeping = false;
  /** The session's listener for a new size of the terminal, and its registration with the owner's terminal. */
  #onResize: (() => void) | undefined;
  #resizeListening: Disposable | undefined;
  #problem: string | undefined;
  /** Whether the pool has ended the child. */
  #isDismissed = false;
  #status: Input | undefined;
  #shownTerminal: ShownTerminal | undefined;
  /** The conditions for taking a message. */
  #readiness = { reachable: false, idle: false, initialized: true };
  #state: "starting" | "ready" | "taken" | "ended" = "starting";

  constructor(profile: ChildProfile, options: WarmChildOptions) {
    this.profile = profile;
    this.#caller = new CallerSlot(profile);
    this.#readiness = { ...this.#readiness, initialized: profile.initialize === undefined };
    this.#options = options;
    this.#ended = this.#hold();
    this.#ended.catch(() => {});
  }

  /** Whether the child can take a message. */
  get isReady(): boolean {
    return this.#state === "ready";
  }

  /** Whether the child has not been taken and has not ended. */
  get isWaiting(): boolean {
    return this.#state === "starting" || this.#state === "ready";
  }

  /** Whether all files and settings that the child has read at its start are unchanged. */
  async isUpToDate(): Promise<boolean> {
    return await this.#surroundings?.isUpToDate().catch(() => false) ?? false;
  }

  /** Whether a file that the child has read may have changed. This check is cheap. */
  get mayBeOutdated(): boolean {
    return this.#surroundings?.mayHaveChanged() ?? false;
  }

  /**
   * Serves the conversation of a caller that has a message.
   *
   * @throws an error that ends the conversation after its first message
   */
  async serve(request: RunRequest, options: HoldOptions): Promise<ServeResult> {
    if (this.#state !== "ready") return { kind: "gone" };
    this.wake();
    this.#state = "taken";
    this.#caller.bind(options.caller, () => this.#assign(request, options));
    try {
      const exitCode = await this.#ended;
      return this.#owner === undefined ? { kind: "gone" } : { kind: "served", exitCode };
    } catch (error) {
      if (this.#owner === undefined) return { kind: "gone" };
      throw error;
    } finally {
      options.signals.onArrival = undefined;
    }
  }

  /** Continues a child that was suspended while it waited. */
  wake(): void {
    clearTimeout(this.#sleepTimer);
    if (this.#isSleeping) this.#child?.signal("SIGCONT");
    this.#isSleeping = false;
  }

  /** Ends the child unless it has an owner. Resolves when all of it is removed. */
  async end(): Promise<void> {
    if (this.#owner === undefined && !this.#isDismissed) {
      this.#isDismissed = true;
      const isIdle = this.#state === "ready";
      this.wake();
      this.#finish();
      // A child that is still starting, or hangs, does not end when its caller closes the input.
      if (!isIdle) this.#signals.raise("SIGTERM");
    }
    await this.#ended.catch(() => {});
  }

  async #hold(): Promise<number> {
    const { request, env, cwd } = this.profile;
    try {
      return await this.#options.hold(request, {
        env,
        cwd,
        caller: this.#caller,
        warm: true,
        watch: async (order) => {
          this.#surroundings = await watchSurroundings(order);
          // The pool checks isUpToDate() before it assigns the child.
          return { isUpToDate: () => Promise.resolve(true) };
        },
        terms: () => this.#terms,
        outlivesFailures: () => {
          const { outlivesFailures = false } = this.#owner ?? {};
          return typeof outlivesFailures === "function" ? outlivesFailures() : outlivesFailures;
        },
        teardown: this.#createTeardown(),
        signals: this.#signals,
        terminal: this.#createTerminal(),
        outlets: this.#outlets,
        ...this.#createListeners(),
      });
    } catch (error) {
      if (this.#owner === undefined) {
        this.#problem ??= error instanceof Error ? error.message : `${error}`;
      }
      throw error;
    } finally {
      this.#finish();
      this.#teardown?.[Symbol.dispose]();
      this.#options.onEnded(this.#isDismissed ? undefined : this.#problem);
    }
  }

  /** The owner's teardown; the child's own while there is no owner. */
  #createTeardown(): HoldOptions["teardown"] {
    const current = () => this.#owner?.teardown ?? this.#teardown;
    return {
      own: (run) => current()?.own(run),
      saveAtEnd: (save) => this.#owner?.teardown.saveAtEnd(save),
      childEnded: () => current()?.childEnded(),
      run: () => current()?.run(),
    };
  }

  /** The owner's terminal; a terminal of the default size while there is no owner. */
  #createTerminal(): NonNullable<HoldOptions["terminal"]> {
    return {
      size: () => (this.#owner?.terminal ?? OWN_TERMINAL).size(),
      listen: (onResize) => {
        this.#onResize = onResize;
        this.#listenToTerminal();
        return { [Symbol.dispose]: () => this.#resizeListening?.[Symbol.dispose]() };
      },
    };
  }

  /** Forwards events to the owner. While there is none, buffers them or acts on them. */
  #createListeners() {
    return {
      emit: (frame) => this.#forward((owner) => owner.emit?.(frame)),
      onReport: async (report) => {
        if (this.#owner === undefined) this.#problem ??= report.problem?.message;
        await this.#owner?.onReport(report);
      },
      onChild: (child) => {
        this.#child = child;
        this.#owner?.onChild?.(child);
      },
      onInput: (input) => this.#observe(input),
      onTerminal: (terminal) => {
        this.#shownTerminal = terminal;
        this.#owner?.onTerminal?.(terminal);
      },
      onOutputComplete: (say) => this.#owner?.onOutputComplete?.(say),
      onReady: () => this.#owner?.onReady?.(),
      onWaiting: (about) => this.#owner?.onWaiting?.(about),
      onPrepared: (prepared) => {
        this.#prepared = prepared;
        this.#owner?.onPrepared?.(prepared);
      },
      onChildEnded: () => {
        // Messages that have not reached the child stay with their caller.
        if (this.#owner !== undefined) return this.#owner.onChildEnded?.();
        this.#problem ??= "it has ended";
        this.#finish();
      },
      warn: (text) => this.#forward((owner) => owner.warn(text)),
      trace: (text) => {
        const at = Math.round(performance.now() - this.#startedAt);
        if (this.#owner !== undefined) this.#owner.trace(text);
        else this.#buffered.push((owner) => owner.trace(`${at} ms after its early start: ${text}`));
      },
      onLogLine: (line) => this.#forward((owner) => owner.onLogLine?.(line)),
    } satisfies Partial<HoldOptions>;
  }

  #forward(call: (owner: HoldOptions) => void): void {
    if (this.#owner === undefined) this.#buffered.push(call);
    else call(this.#owner);
  }

  #observe(input: Input): void {
    if (this.#owner !== undefined) return this.#owner.onInput?.(input);
    if (input.type === "status") this.#status = input;
    if (this.#state !== "starting") return;
    if (input.type === "reachable") this.#readiness = { ...this.#readiness, reachable: true };
    if (input.type === "status") {
      this.#readiness = { ...this.#readiness, idle: input.status === "idle" };
    }
    if (input.type === "consulted") this.#readiness = { ...this.#readiness, initialized: true };
    if (!this.#readiness.reachable || !this.#readiness.idle || !this.#readiness.initialized) return;
    this.#state = "ready";
    const timer = setTimeout(() => this.#sleep(), this.#options.sleepAfterMs);
    Deno.unrefTimer(timer);
    this.#sleepTimer = timer;
    this.#options.onReady();
  }

  /**
   * Suspends the child, which uses the CPU several times a second even when it is idle. A child with MCP servers
   * continues, because its connections have to be kept alive.
   */
  #sleep(): void {
    if (this.#prepared?.conversation.session.mcpServers !== undefined) return;
    this.#isSleeping = true;
    this.#child?.signal("SIGSTOP");
  }

  /** Makes a caller the owner. Called when the caller's first message is about to reach the child. */
  #assign(request: RunRequest, options: HoldOptions): void {
    this.#terms = createLateTerms(request, options.caller.initialize);
    this.#owner = options;
    this.#options.onTaken();
    this.#teardown?.passTo(options.teardown);
    this.#teardown?.[Symbol.dispose]();
    this.#teardown = undefined;
    this.#outlets.push(...options.outlets ?? []);
    const forward = () => {
      for (const signal of options.signals.take()) this.#signals.raise(signal);
    };
    options.signals.onArrival = forward;
    this.#signals.owner = options.signals;
    this.#listenToTerminal();
    if (this.#prepared !== undefined) options.onPrepared?.(this.#prepared);
    if (this.#shownTerminal !== undefined) options.onTerminal?.(this.#shownTerminal);
    if (this.#status !== undefined) options.onInput?.(this.#status);
    options.onReady?.();
    for (const call of this.#buffered.splice(0)) call(options);
    forward();
  }

  /** Keeps the child's terminal at the size of the owner's terminal, if there is one. */
  #listenToTerminal(): void {
    const onResize = this.#onResize;
    const terminal = this.#owner?.terminal;
    if (onResize === undefined || terminal === undefined) return;
    this.#resizeListening = terminal.listen(onResize);
    onResize();
  }

  #finish(): void {
    this.#state = "ended";
    clearTimeout(this.#sleepTimer);
    if (this.#owner === undefined) this.#caller.vacate();
  }
}

/** Signals that the pool or the owner raises. The owner decides whether the run is paused. */
class LateSignals extends StopSignals {
  owner: StopSignals | undefined;

  override get paused(): Promise<void> | undefined {
    return this.owner?.paused;
  }
}
