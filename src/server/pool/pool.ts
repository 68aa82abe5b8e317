import type { RunRequest } from "../../cli/arguments/run_request.ts";
import { holdConversation, type HoldOptions } from "../../library/hold_conversation.ts";
import type { JsonObject } from "../../json_object.ts";
import { awaitInput } from "../../run/perform_conversation.ts";
import { Demand, type PoolLimits } from "./demand.ts";
import {
  type ChildProfile,
  createChildProfile,
  findColdInitializeReason,
  findColdStartReason,
} from "../server_profiles.ts";
import { WarmChild } from "./warm_child.ts";

export interface PoolOptions extends PoolLimits {
  /** Receives a line for the person who runs the server. */
  readonly report: (text: string) => void;
  /** The interval at which to check whether warm children are outdated, in milliseconds. */
  readonly checkIntervalMs?: number;
  /**
   * How long a ready child runs before it is suspended, in milliseconds. Its start continues for some time after it is
   * ready.
   */
  readonly sleepAfterMs?: number;
  /** Carries out a conversation; tests replace `holdConversation`. */
  readonly hold?: typeof holdConversation;
}

/** A profile in use. */
export interface PoolEntry {
  readonly profile: ChildProfile;
  /** The number of warm children. */
  readonly waiting: number;
  /** The number of warm children that can take a message now. */
  readonly ready: number;
}

/** A child that waits for a conversation. */
interface WaitingChild {
  readonly isReady: boolean;
  /** When the child was started, in milliseconds since the epoch. */
  readonly startedAt: number;
  readonly cwd: string;
}

/**
 * How long to wait for a warm child that is still starting, in milliseconds. Starting a new child would take as long.
 */
const READY_TIMEOUT_MS = 3000;

/** Default of `sleepAfterMs`. */
const SLEEP_AFTER_MS = 10_000;

/** Default of `checkIntervalMs`. Every 12th check also runs git. */
const CHECK_INTERVAL_MS = 5000;
const THOROUGH_EVERY = 12;

/** No warm child is started until this long after the start of a run, in milliseconds. A start takes 1 s of CPU time. */
const QUIET_MS = 10_000;

/**
 * Warm children, so that a run with a known profile does not wait for a start.
 *
 * Each warm child serves one conversation and is then replaced, so that no data of one conversation reaches another.
 * Children are started one at a time, when runs have ended.
 */
export class Pool implements AsyncDisposable {
  readonly #options: PoolOptions;
  readonly #hold: typeof holdConversation;
  readonly #demand: Demand;
  readonly #children = new Set<WarmChild>();
  /** Children that a conversation is about to take. */
  readonly #reserved = new Set<WarmChild>();
  /** Called when a child becomes ready or ends. */
  readonly #childListeners = new Set<() => void>();
  /** The start times of the running runs. */
  readonly #runs = new Map<symbol, number>();
  #fillTimer: ReturnType<typeof setTimeout> | undefined;
  #checkTimer: ReturnType<typeof setTimeout> | undefined;
  #checkCount = 0;
  #counts = { waited: 0, started: 0 };
  #isClosed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#hold = options.hold ?? holdConversation;
    this.#demand = new Demand(options);
  }

  /** The profiles in use. */
  get entries(): readonly PoolEntry[] {
    return this.#demand.profiles.map(({ profile }) => {
      const waiting = this.#availableChildren(profile.digest);
      return {
        profile,
        waiting: waiting.length,
        ready: waiting.filter(({ isReady }) => isReady).length,
      };
    });
  }

  /** The warm children. */
  get children(): readonly WaitingChild[] {
    return [...this.#children].filter(({ isWaiting }) => isWaiting).map((
      { isReady, openedAt: startedAt, profile: { cwd } },
    ) => ({ isReady, startedAt, cwd }));
  }

  /** The number of conversations that got a warm child (`waited`), and that got a new one (`started`). */
  get counts(): { readonly waited: number; readonly started: number } {
    return this.#counts;
  }

  /**
   * Carries out a conversation as `holdConversation` does, with a warm child if one fits.
   *
   * @throws {CliError} as `holdConversation` does
   */
  async hold(request: RunRequest, options: HoldOptions): Promise<number> {
    const cold = findColdStartReason(request, options);
    if (cold === undefined) {
      // A child is reserved only when the first message has arrived.
      options.onReady?.();
      await awaitInput(options.caller, options);
      if (options.caller.isFinished) return 0;
    }
    const { initialize } = options.caller;
    const why = cold ??
      (initialize === undefined ? undefined : findColdInitializeReason(initialize.body));
    if (why !== undefined) options.trace(`starts cold: ${why}`);
    if (why !== undefined || this.#options.warm === 0 || this.#isClosed) {
      return await this.#run(() => this.#start(request, options));
    }
    const profile = await createChildProfile(request, { ...options, initialize: initialize?.body });
    const name = shortDigest(profile);
    this.#demand.recordRequest(profile, performance.now());
    return await this.#run(async () => {
      for (;;) {
        const child = await this.#reserve(profile.digest);
        if (child === undefined) break;
        options.trace(`profile ${name}: a child has waited`);
        const served = await child.serve(request, options);
        if (served.kind === "served") return served.exitCode;
      }
      options.trace(`profile ${name}: no child waits`);
      return await this.#start(request, options);
    });
  }

  #start(request: RunRequest, options: HoldOptions): Promise<number> {
    this.#counts.started++;
    return this.#hold(request, options);
  }

  /**
   * Starts a warm child for an expected request.
   *
   * @param options.initialize the body of the caller's `initialize` request, if the first line is one
   * @param options.isKept whether to keep warm children even without a request
   * @returns the reason when a warm child cannot serve the request
   */
  async prewarm(
    request: RunRequest,
    { isKept = true, ...surroundings }: Pick<HoldOptions, "env" | "cwd"> & {
      readonly initialize?: JsonObject | undefined;
      readonly isKept?: boolean;
    },
  ): Promise<string | undefined> {
    const { initialize } = surroundings;
    const why = findColdStartReason(request) ??
      (initialize === undefined ? undefined : findColdInitializeReason(initialize));
    if (why !== undefined) return why;
    const profile = await createChildProfile(request, surroundings);
    if (isKept) this.#demand.pin(profile, performance.now());
    else this.#demand.recordRequest(profile, performance.now());
    this.#fill();
    return undefined;
  }

  /** Ends the warm children. Conversations continue. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#fillTimer);
    clearTimeout(this.#checkTimer);
    await Promise.all(
      [...this.#children].filter(({ isWaiting }) => isWaiting).map((each) => each.end()),
    );
  }

  async #run(run: () => Promise<number>): Promise<number> {
    const key = Symbol();
    this.#runs.set(key, performance.now());
    try {
      return await run();
    } finally {
      this.#runs.delete(key);
      this.#fill();
    }
  }

  /** Reserves a warm child that is ready and up to date; undefined when there is none. */
  async #reserve(digest: string): Promise<WarmChild | undefined> {
    for (;;) {
      const free = this.#availableChildren(digest);
      const child = free.find(({ isReady }) => isReady) ?? free[0];
      if (child === undefined) return undefined;
      this.#reserved.add(child);
      child.wake();
      await this.#waitUntilReady(child);
      if (child.isReady && await child.isUpToDate()) return child;
      // A child that is not ready in time may hang.
      void child.end();
    }
  }

  async #waitUntilReady(child: WarmChild): Promise<void> {
    const until = performance.now() + READY_TIMEOUT_MS;
    while (child.isWaiting && !child.isReady && performance.now() < until) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#childListeners.add(resolve);
      const timer = setTimeout(resolve, until - performance.now());
      await promise;
      clearTimeout(timer);
      this.#childListeners.delete(resolve);
    }
  }

  /** The warm children of a profile that are not reserved. */
  #availableChildren(digest: string): readonly WarmChild[] {
    return [...this.#children].filter((child) =>
      child.profile.digest === digest && child.isWaiting && !this.#reserved.has(child)
    );
  }

  /** Ends children of profiles that are no longer in use, and starts the next missing one. */
  #fill(): void {
    clearTimeout(this.#fillTimer);
    if (this.#isClosed) return;
    const now = performance.now();
    for (const digest of this.#demand.removeUnused(now)) {
      for (const child of this.#availableChildren(digest)) void child.end();
    }
    const quietAt = Math.max(0, ...this.#runs.values().map((begunAt) => begunAt + QUIET_MS));
    const isStarting = [...this.#children].some((each) => each.isWaiting && !each.isReady);
    if (quietAt <= now && !isStarting) {
      const counts = this.#demand.profiles.map(({ profile: { digest } }) =>
        [digest, this.#availableChildren(digest).length] as const
      );
      const next = this.#demand.planNext(new Map(counts), now);
      const [child] = next?.evict === undefined ? [] : this.#availableChildren(next.evict);
      void child?.end();
      if (next !== undefined) this.#startChild(next.start);
    }
    const dueAt = Math.min(quietAt > now ? quietAt : Infinity, this.#demand.nextCheckAt(now));
    if (dueAt === Infinity) return;
    const timer = setTimeout(() => this.#fill(), Math.min(dueAt - now + 1, 0x7fffffff));
    Deno.unrefTimer(timer);
    this.#fillTimer = timer;
  }

  /** Schedules the next check for outdated children, while there are warm children. */
  #scheduleCheck(): void {
    if (this.#isClosed || this.#checkTimer !== undefined || this.#children.size === 0) return;
    const timer = setTimeout(async () => {
      await this.#check();
      this.#checkTimer = undefined;
      this.#scheduleCheck();
    }, this.#options.checkIntervalMs ?? CHECK_INTERVAL_MS);
    Deno.unrefTimer(timer);
    this.#checkTimer = timer;
  }

  async #check(): Promise<void> {
    const isThorough = ++this.#checkCount % THOROUGH_EVERY === 0;
    for (const child of this.#children) {
      const isFree = () => child.isReady && !this.#reserved.has(child);
      if (!isFree() || !(isThorough || child.mayBeOutdated)) continue;
      if (await child.isUpToDate() || !isFree()) continue;
      this.#demand.recordOutdated(child.profile.digest, performance.now());
      void child.end();
    }
  }

  #startChild(profile: ChildProfile): void {
    const { digest, cwd } = profile;
    const notify = () => {
      for (const listener of [...this.#childListeners]) listener();
      this.#fill();
    };
    const child: WarmChild = new WarmChild(profile, {
      hold: this.#hold,
      sleepAfterMs: this.#options.sleepAfterMs ?? SLEEP_AFTER_MS,
      onReady: notify,
      onTaken: () => {
        this.#counts.waited++;
        this.#demand.recordSuccess(digest);
      },
      onEnded: (problem) => {
        this.#children.delete(child);
        this.#reserved.delete(child);
        if (problem !== undefined && this.#demand.recordFailure(digest, performance.now())) {
          this.#options.report(
            `A warm Claude Code in ${cwd} failed (profile ${shortDigest(profile)}): ${problem}`,
          );
        }
        notify();
      },
    });
    this.#children.add(child);
    this.#scheduleCheck();
  }
}

/** The start of a digest, which identifies a profile in traces. */
function shortDigest({ digest }: ChildProfile): string {
  return digest.slice(0, 16);
}
