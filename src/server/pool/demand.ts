import type { ChildProfile } from "../profiles.ts";

/** How many children wait, and for how long. */
export interface Supply {
  /** How many children of each profile in use wait; 0 for none. */
  readonly warm: number;
  /** How many children of all profiles wait at most. */
  readonly max: number;
  /** How long a profile is in use after it was asked for last, in milliseconds. */
  readonly idleMs: number;
}

/** A profile in use. Times are in milliseconds on one clock. */
export interface Known {
  readonly profile: ChildProfile;
  /** How often it was asked for, and when last. */
  readonly asks: number;
  readonly askedAt: number;
  /** How many of its children in a row were no good, or were outdated before anybody asked, and until when there is no other one. */
  readonly failures: number;
  readonly outdated: number;
  readonly pausedUntil: number;
}

/** How long the pause is after a first child that was no good, and the longest one, in milliseconds. */
const FIRST_PAUSE_MS = 2000;
const LONGEST_PAUSE_MS = 10 * 60_000;

/** Which profiles are asked for, and what children there should be because of it. */
export class Demand {
  readonly #supply: Supply;
  readonly #known = new Map<string, Known>();
  /** Digests of those that are in use for good. */
  readonly #kept = new Set<string>();

  constructor(supply: Supply) {
    this.#supply = supply;
  }

  /** The profiles in use, those first that were asked for last. */
  get known(): readonly Known[] {
    return [...this.#known.values()].sort((one, other) => other.askedAt - one.askedAt);
  }

  /** Somebody asks for a profile. */
  ask(profile: ChildProfile, now: number): void {
    const { digest } = profile;
    const { asks = 0, failures = 0, pausedUntil = 0 } = this.#known.get(digest) ?? {};
    this.#known.set(digest, {
      profile,
      asks: asks + 1,
      askedAt: now,
      failures,
      outdated: 0,
      pausedUntil: failures === 0 ? 0 : pausedUntil,
    });
  }

  /** A profile is in use for good, whether or not anybody asks for it. */
  keep(profile: ChildProfile, now: number): void {
    this.#kept.add(profile.digest);
    this.ask(profile, now);
  }

  /** A child has held a conversation, or can. */
  succeeded(digest: string): void {
    const known = this.#known.get(digest);
    if (known !== undefined) this.#known.set(digest, { ...known, failures: 0, pausedUntil: 0 });
  }

  /**
   * A child was no good: the next one has to wait, longer with each of them in a row.
   *
   * @returns whether it is the first in a row, of which somebody should hear
   */
  failed(digest: string, now: number): boolean {
    const known = this.#known.get(digest);
    if (known === undefined) return true;
    const { failures } = known;
    this.#known.set(digest, {
      ...known,
      failures: failures + 1,
      pausedUntil: now + pauseMs(failures),
    });
    return failures === 0;
  }

  /** A child was outdated before anybody asked: where files change all the time, no child is started for each change. */
  outdated(digest: string, now: number): void {
    const known = this.#known.get(digest);
    if (known === undefined) return;
    const { outdated, pausedUntil } = known;
    this.#known.set(digest, {
      ...known,
      outdated: outdated + 1,
      pausedUntil: Math.max(pausedUntil, now + pauseMs(outdated)),
    });
  }

  /** Forgets profiles that nobody has asked for any more, and says which. */
  forget(now: number): readonly string[] {
    const unused = this.known.filter(({ askedAt, profile: { digest } }) =>
      now - askedAt >= this.#supply.idleMs && !this.#kept.has(digest)
    );
    for (const { profile: { digest } } of unused) this.#known.delete(digest);
    return unused.map(({ profile: { digest } }) => digest);
  }

  /**
   * What to do next: of which profile to start a child, and which one's child has to go for it.
   *
   * What was asked for once gets a child only where there is room: who asks for something else each time would drive out
   * what others ask for again and again.
   *
   * @param waiting how many children of each profile wait, by its digest
   */
  next(
    waiting: ReadonlyMap<string, number>,
    now: number,
  ): { readonly start: ChildProfile; readonly letGo?: string } | undefined {
    const { warm, max } = this.#supply;
    const count = [...waiting.values()].reduce((sum, each) => sum + each, 0);
    const has = (known: Known) => waiting.get(known.profile.digest) ?? 0;
    for (const known of this.known) {
      if (known.pausedUntil > now || has(known) >= warm) continue;
      if (count < max) return { start: known.profile };
      if (known.asks < 2 || max === 0) continue;
      const oldest = this.known.findLast((each) => each.askedAt < known.askedAt && has(each) > 0);
      if (oldest !== undefined) return { start: known.profile, letGo: oldest.profile.digest };
    }
    return undefined;
  }

  /** When something has to be looked at again, though nothing happens; infinity for never. */
  dueAt(now: number): number {
    return Math.min(
      ...this.known.flatMap(({ profile: { digest }, askedAt, pausedUntil }) => [
        this.#kept.has(digest) ? Infinity : askedAt + this.#supply.idleMs,
        pausedUntil > now ? pausedUntil : Infinity,
      ]),
    );
  }
}

/** How long the pause is after so many others. */
function pauseMs(before: number): number {
  return Math.min(FIRST_PAUSE_MS * 2 ** before, LONGEST_PAUSE_MS);
}
