import { LateCaller } from "../../driver/inputs/caller/late_caller.ts";
import type { RunRequest } from "../../cli/arguments/run_request.ts";
import type { LateTerms } from "../../conversation/control/late_terms.ts";
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
import { type ChildProfile, termsOf } from "../profiles.ts";

/** How a spare went for somebody who was to have it. */
type Served =
  /** It held the conversation to its end. */
  | { readonly kind: "served"; readonly exitCode: number }
  /** It was gone before it was told a word: whoever was to have it has said nothing yet. */
  | { readonly kind: "gone" };

/** What becomes of a spare that nobody has taken. */
interface SpareOptions {
  readonly hold: typeof holdConversation;
  /** How long a child that can take a message goes on by itself before it is stopped, in milliseconds. */
  readonly awakeMs: number;
  /** Called once it can take a message. */
  readonly onReady: () => void;
  /** Called once it has been told somebody's first words. */
  readonly onTaken: () => void;
  /** Called once when it has ended, with the reason if nobody wanted it to. */
  readonly onOver: (problem: string | undefined) => void;
}

/**
 * A child that was started and waits for somebody to say something: one conversation, for whoever comes.
 *
 * Whoever takes it puts in a caller of their own, and everything that hears of the conversation. What was said before is
 * kept for them, and told when their first words go in. Until then the child belongs to the pool: what is left of it is
 * brought home and removed by a teardown of its own.
 */
export class Spare {
  readonly profile: ChildProfile;
  readonly #caller: LateCaller;
  readonly #signals = new LateSignals({ listen: false });
  readonly #outlets: Outlet[] = [];
  readonly #startedAt = performance.now();
  /** What is to be told whoever takes it, in order. */
  readonly #before: ((to: HoldOptions) => void)[] = [];
  readonly #ended: Promise<number>;
  readonly #options: SpareOptions;
  #teardown: Teardown | undefined = new Teardown({ warn: (text) => void (this.#problem ??= text) });
  #prepared: PreparedRun | undefined;
  #surroundings: Surroundings | undefined;
  /** Who has it, once it has been told their first words. */
  #owner: HoldOptions | undefined;
  #terms: LateTerms | undefined;
  #child: Pick<Child, "signal"> | undefined;
  /** Stops the child after a while, and whether it is stopped. */
  #falling: ReturnType<typeof setTimeout> | undefined;
  #sleeps = false;
  /** Tells the session that the terminal of whoever has it may have another size, and who tells that. */
  #onResize: (() => void) | undefined;
  #resizes: Disposable | undefined;
  #problem: string | undefined;
  /** Whether it was told to go before anybody had it. */
  #isDismissed = false;
  #status: Input | undefined;
  /** What can be seen of its terminal. */
  #shown: ShownTerminal | undefined;
  #seen = { reachable: false, idle: false, foretold: true };
  #state: "starting" | "ready" | "taken" | "over" = "starting";

  constructor(profile: ChildProfile, options: SpareOptions) {
    this.profile = profile;
    this.#caller = new LateCaller(profile);
    this.#seen = { ...this.#seen, foretold: profile.initialize === undefined };
    this.#options = options;
    this.#ended = this.#hold();
    this.#ended.catch(() => {});
  }

  /** Whether it can take a message. */
  get isReady(): boolean {
    return this.#state === "ready";
  }

  /** Whether somebody may still have it. */
  get isWaiting(): boolean {
    return this.#state === "starting" || this.#state === "ready";
  }

  /** Whether the child has read nothing that is another by now. */
  async isUpToDate(): Promise<boolean> {
    return await this.#surroundings?.isUpToDate().catch(() => false) ?? false;
  }

  /** Whether it may have read what is another by now: that costs next to nothing to ask. */
  get hasStirred(): boolean {
    return this.#surroundings?.hasStirred() ?? false;
  }

  /**
   * Gives it to somebody who has said something.
   *
   * @returns how their conversation went
   * @throws whatever ends the conversation, once it has their words
   */
  async serve(request: RunRequest, options: HoldOptions): Promise<Served> {
    if (this.#state !== "ready") return { kind: "gone" };
    this.wake();
    this.#state = "taken";
    this.#caller.bind(options.caller, () => this.#handOut(request, options));
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

  /** Has a child go on that was stopped while it waited. */
  wake(): void {
    clearTimeout(this.#falling);
    if (this.#sleeps) this.#child?.signal("SIGCONT");
    this.#sleeps = false;
  }

  /** Ends a child that nobody has taken; resolves when nothing is left of it. */
  async end(): Promise<void> {
    if (this.#owner === undefined && !this.#isDismissed) {
      this.#isDismissed = true;
      const isIdle = this.#state === "ready";
      this.wake();
      this.#over();
      // One that is still starting, or hangs, does not go by itself.
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
          // It is looked at before the child is given to anybody.
          return { isUpToDate: () => Promise.resolve(true) };
        },
        terms: () => this.#terms,
        outlivesFailures: () => {
          const { outlivesFailures = false } = this.#owner ?? {};
          return typeof outlivesFailures === "function" ? outlivesFailures() : outlivesFailures;
        },
        teardown: {
          own: (run) => (this.#owner?.teardown ?? this.#teardown)?.own(run),
          keep: (save) => this.#owner?.teardown.keep(save),
          childEnded: () => (this.#owner?.teardown ?? this.#teardown)?.childEnded(),
          run: () => (this.#owner?.teardown ?? this.#teardown)?.run(),
        },
        signals: this.#signals,
        terminal: {
          size: () => (this.#owner?.terminal ?? OWN_TERMINAL).size(),
          listen: (onResize) => {
            this.#onResize = onResize;
            this.#listenToTerminal();
            return { [Symbol.dispose]: () => this.#resizes?.[Symbol.dispose]() };
          },
        },
        outlets: this.#outlets,
        emit: (frame) => this.#tell((to) => to.emit?.(frame)),
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
          this.#shown = terminal;
          this.#owner?.onTerminal?.(terminal);
        },
        onWhole: (say) => this.#owner?.onWhole?.(say),
        onReady: () => this.#owner?.onReady?.(),
        onWaiting: (about) => this.#owner?.onWaiting?.(about),
        onPrepared: (prepared) => {
          this.#prepared = prepared;
          this.#owner?.onPrepared?.(prepared);
        },
        onChildEnded: () => {
          // Words that it has not been told are left to whoever said them.
          if (this.#owner !== undefined) return this.#owner.onChildEnded?.();
          this.#problem ??= "it has ended";
          this.#over();
        },
        warn: (text) => this.#tell((to) => to.warn(text)),
        trace: (text) => {
          const at = Math.round(performance.now() - this.#startedAt);
          if (this.#owner !== undefined) this.#owner.trace(text);
          else this.#before.push((to) => to.trace(`${at} ms after a start ahead: ${text}`));
        },
        onLogLine: (line) => this.#tell((to) => to.onLogLine?.(line)),
      });
    } catch (error) {
      if (this.#owner === undefined) {
        this.#problem ??= error instanceof Error ? error.message : `${error}`;
      }
      throw error;
    } finally {
      this.#over();
      this.#teardown?.[Symbol.dispose]();
      this.#options.onOver(this.#isDismissed ? undefined : this.#problem);
    }
  }

  #tell(deed: (to: HoldOptions) => void): void {
    if (this.#owner === undefined) this.#before.push(deed);
    else deed(this.#owner);
  }

  #observe(input: Input): void {
    if (this.#owner !== undefined) return this.#owner.onInput?.(input);
    if (input.type === "status") this.#status = input;
    if (this.#state !== "starting") return;
    if (input.type === "reachable") this.#seen = { ...this.#seen, reachable: true };
    if (input.type === "status") this.#seen = { ...this.#seen, idle: input.status === "idle" };
    if (input.type === "consulted") this.#seen = { ...this.#seen, foretold: true };
    if (!this.#seen.reachable || !this.#seen.idle || !this.#seen.foretold) return;
    this.#state = "ready";
    const falling = setTimeout(() => this.#sleep(), this.#options.awakeMs);
    Deno.unrefTimer(falling);
    this.#falling = falling;
    this.#options.onReady();
  }

  /**
   * Stops the child, which looks around several times a second even when there is nothing to do. One with MCP servers
   * has connections that have to be kept.
   */
  #sleep(): void {
    if (this.#prepared?.conversation.session.mcpServers !== undefined) return;
    this.#sleeps = true;
    this.#child?.signal("SIGSTOP");
  }

  /** The child is about to be told somebody's first words: from now on it is theirs. */
  #handOut(request: RunRequest, options: HoldOptions): void {
    this.#terms = termsOf(request, options.caller.initialize);
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
    if (this.#shown !== undefined) options.onTerminal?.(this.#shown);
    if (this.#status !== undefined) options.onInput?.(this.#status);
    options.onReady?.();
    for (const deed of this.#before.splice(0)) deed(options);
    forward();
  }

  /** The child's terminal gets the size of that of whoever has it, if there is one, and keeps it. */
  #listenToTerminal(): void {
    const onResize = this.#onResize;
    const terminal = this.#owner?.terminal;
    if (onResize === undefined || terminal === undefined) return;
    this.#resizes = terminal.listen(onResize);
    onResize();
  }

  #over(): void {
    this.#state = "over";
    clearTimeout(this.#falling);
    if (this.#owner === undefined) this.#caller.vacate();
  }
}

/** Signals that are raised by hand; whether a run stands still is up to whoever has it. */
class LateSignals extends StopSignals {
  owner: StopSignals | undefined;

  override get paused(): Promise<void> | undefined {
    return this.owner?.paused;
  }
}
