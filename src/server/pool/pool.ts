import type { RunRequest } from "../../cli/arguments/run_request.ts";
import { holdConversation, type HoldOptions } from "../../library/hold_conversation.ts";
import { awaitWords } from "../../run/perform_conversation.ts";
import { Demand, type Supply } from "./demand.ts";
import { type ChildProfile, profileOf, whyCold, whyOfInitialize } from "../profiles.ts";
import { Spare } from "./warm_child.ts";

/** What a pool is told beside how many children are to wait. */
export interface PoolOptions extends Supply {
  /** Takes a sentence of what whoever runs the pool should know. */
  readonly tell: (text: string) => void;
  /** How often children that wait are looked at, in milliseconds; another time than a few seconds for tests. */
  readonly lookMs?: number;
  /** How long a child that can take a message goes on by itself, in milliseconds; until then its start has after-effects. */
  readonly awakeMs?: number;
  /** What holds a conversation; another one than `holdConversation` for tests. */
  readonly hold?: typeof holdConversation;
}

/** How many children of a profile wait. */
export interface PoolEntry {
  readonly profile: ChildProfile;
  readonly waiting: number;
  /** How many of them can take a message now. */
  readonly ready: number;
}

/** How long somebody waits for a child that has been started already, in milliseconds: their own would take as long. */
const PATIENCE_MS = 3000;

/** How long a child goes on by itself, in milliseconds. */
const AWAKE_MS = 10_000;

/** How often children that wait are looked at, in milliseconds, and every how many times git is asked too. */
const LOOK_MS = 5000;
const THOROUGH = 12;

/** For so long after a run has begun no child is started beside it, in milliseconds: a start takes a second of CPU time. */
const BUSY_MS = 10_000;

/**
 * Children that are started and wait, so that whoever asks for what they were started with need not wait for a start.
 *
 * Each of them holds one conversation and is then replaced: nothing of one gets into another. Others are started when
 * runs have ended, one after the other.
 */
export class Pool implements AsyncDisposable {
  readonly #options: PoolOptions;
  readonly #hold: typeof holdConversation;
  readonly #demand: Demand;
  readonly #spares = new Set<Spare>();
  /** Those that somebody is about to have. */
  readonly #promised = new Set<Spare>();
  /** Called when a child is ready, or is none any more. */
  readonly #changed = new Set<() => void>();
  /** When each run that goes on has begun. */
  readonly #runs = new Map<symbol, number>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #looking: ReturnType<typeof setTimeout> | undefined;
  #looks = 0;
  #counts = { waited: 0, started: 0 };
  #isOver = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#hold = options.hold ?? holdConversation;
    this.#demand = new Demand(options);
  }

  /** The profiles in use, and how many children of each wait. */
  get entries(): readonly PoolEntry[] {
    return this.#demand.known.map(({ profile }) => {
      const waiting = this.#waitingOf(profile.digest);
      return {
        profile,
        waiting: waiting.length,
        ready: waiting.filter(({ isReady }) => isReady).length,
      };
    });
  }

  /** How many conversations have got a child that had waited, and how many one that was started for them. */
  get counts(): { readonly waited: number; readonly started: number } {
    return this.#counts;
  }

  /**
   * Holds a conversation as `holdConversation` does, with a child that has waited for it if there is one that fits.
   *
   * @throws {CliError} as that does
   */
  async hold(request: RunRequest, options: HoldOptions): Promise<number> {
    const cold = whyCold(request, options);
    if (cold === undefined) {
      // A child is given to who has something to say, which can be said at once.
      options.onReady?.();
      await awaitWords(options.caller, options);
      if (options.caller.isOver) return 0;
    }
    const { initialize } = options.caller;
    const why = cold ?? (initialize === undefined ? undefined : whyOfInitialize(initialize));
    if (why !== undefined) options.trace(`starts cold: ${why}`);
    if (why !== undefined || this.#options.warm === 0 || this.#isOver) {
      return await this.#run(() => this.#start(request, options));
    }
    const profile = await profileOf(request, { ...options, initialize: initialize?.body });
    const name = nameOf(profile);
    this.#demand.ask(profile, performance.now());
    return await this.#run(async () => {
      for (;;) {
        const spare = await this.#find(profile.digest);
        if (spare === undefined) break;
        options.trace(`profile ${name}: a child has waited`);
        const served = await spare.serve(request, options);
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
   * Has children wait for a request from now on, whether or not anybody makes it.
   *
   * @returns why none can, if none can
   */
  async keep(
    request: RunRequest,
    surroundings: Pick<HoldOptions, "env" | "cwd">,
  ): Promise<string | undefined> {
    const why = whyCold(request);
    if (why !== undefined) return why;
    this.#demand.keep(await profileOf(request, surroundings), performance.now());
    this.#fill();
    return undefined;
  }

  /** Ends all children that wait; conversations go on. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#looking);
    await Promise.all(
      [...this.#spares].filter(({ isWaiting }) => isWaiting).map((each) => each.end()),
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

  /** A child that can take a message and has read nothing that is another by now. */
  async #find(digest: string): Promise<Spare | undefined> {
    for (;;) {
      const free = this.#waitingOf(digest);
      const spare = free.find(({ isReady }) => isReady) ?? free[0];
      if (spare === undefined) return undefined;
      this.#promised.add(spare);
      spare.wake();
      await this.#untilReady(spare);
      if (spare.isReady && await spare.isUpToDate()) return spare;
      // Too slow for one it may hang, and is none for the next.
      void spare.end();
    }
  }

  /** Waits for a child that has been started already. */
  async #untilReady(spare: Spare): Promise<void> {
    const until = performance.now() + PATIENCE_MS;
    while (spare.isWaiting && !spare.isReady && performance.now() < until) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#changed.add(resolve);
      const timer = setTimeout(resolve, until - performance.now());
      await promise;
      clearTimeout(timer);
      this.#changed.delete(resolve);
    }
  }

  /** Children that wait and that nobody is about to have. */
  #waitingOf(digest: string): readonly Spare[] {
    return [...this.#spares].filter((spare) =>
      spare.profile.digest === digest && spare.isWaiting && !this.#promised.has(spare)
    );
  }

  /** Lets go what nobody wants any more, and starts the next child that is missing. */
  #fill(): void {
    clearTimeout(this.#timer);
    if (this.#isOver) return;
    const now = performance.now();
    for (const digest of this.#demand.forget(now)) {
      for (const spare of this.#waitingOf(digest)) void spare.end();
    }
    const quietAt = Math.max(0, ...this.#runs.values().map((begunAt) => begunAt + BUSY_MS));
    const isStarting = [...this.#spares].some((each) => each.isWaiting && !each.isReady);
    if (quietAt <= now && !isStarting) {
      const counts = this.#demand.known.map(({ profile: { digest } }) =>
        [digest, this.#waitingOf(digest).length] as const
      );
      const next = this.#demand.next(new Map(counts), now);
      const [spare] = next?.letGo === undefined ? [] : this.#waitingOf(next.letGo);
      void spare?.end();
      if (next !== undefined) this.#startAhead(next.start);
    }
    const dueAt = Math.min(quietAt > now ? quietAt : Infinity, this.#demand.dueAt(now));
    if (dueAt === Infinity) return;
    const timer = setTimeout(() => this.#fill(), Math.min(dueAt - now + 1, 0x7fffffff));
    Deno.unrefTimer(timer);
    this.#timer = timer;
  }

  /** Looks every now and then whether children that wait have read what is another by now, as long as there are any. */
  #lookLater(): void {
    if (this.#isOver || this.#looking !== undefined || this.#spares.size === 0) return;
    const timer = setTimeout(async () => {
      await this.#look();
      this.#looking = undefined;
      this.#lookLater();
    }, this.#options.lookMs ?? LOOK_MS);
    Deno.unrefTimer(timer);
    this.#looking = timer;
  }

  async #look(): Promise<void> {
    const isThorough = ++this.#looks % THOROUGH === 0;
    for (const spare of this.#spares) {
      const isFree = () => spare.isReady && !this.#promised.has(spare);
      if (!isFree() || !(isThorough || spare.hasStirred)) continue;
      if (await spare.isUpToDate() || !isFree()) continue;
      this.#demand.outdated(spare.profile.digest, performance.now());
      void spare.end();
    }
  }

  #startAhead(profile: ChildProfile): void {
    const { digest, cwd } = profile;
    const goOn = () => {
      for (const wake of [...this.#changed]) wake();
      this.#fill();
    };
    const spare: Spare = new Spare(profile, {
      hold: this.#hold,
      awakeMs: this.#options.awakeMs ?? AWAKE_MS,
      onReady: goOn,
      onTaken: () => {
        this.#counts.waited++;
        this.#demand.succeeded(digest);
      },
      onOver: (problem) => {
        this.#spares.delete(spare);
        this.#promised.delete(spare);
        if (problem !== undefined && this.#demand.failed(digest, performance.now())) {
          this.#options.tell(
            `A Claude Code that waited in ${cwd} is no good (profile ${
              nameOf(profile)
            }): ${problem}`,
          );
        }
        goOn();
      },
    });
    this.#spares.add(spare);
    this.#lookLater();
  }
}

/** As much of a digest as tells it from others. */
function nameOf({ digest }: ChildProfile): string {
  return digest.slice(0, 16);
}
