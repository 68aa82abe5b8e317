import type { ChildProfile } from "../server_profiles.ts";

/** The limits for the number and the lifetime of warm children. */
export interface PoolLimits {
  /** Warm children of each profile in use; 0 for none. */
  readonly warm: number;
  /** The maximum number of warm children of all profiles. */
  readonly max: number;
  /** How long a profile is in use after its last request, in milliseconds. */
  readonly idleMs: number;
}

/** A profile in use. Times are those of `performance.now()`. */
export interface KnownProfile {
  readonly profile: ChildProfile;
  /** The number of requests, and the time of the last one. */
  readonly requests: number;
  readonly requestedAt: number;
  /** The number of the profile's children that failed in a row. */
  readonly failures: number;
  /** The number of the profile's children that became outdated since the last request. */
  readonly outdated: number;
  /** No child is started before this time. */
  readonly pausedUntil: number;
}

/**
 * The pause after the first failed child, and the maximum pause, in milliseconds. The pause doubles with each further
 * failure.
 */
const FIRST_PAUSE_MS = 2000;
const MAX_PAUSE_MS = 10 * 60_000;

/** Tracks which profiles are requested, and decides which warm children to start and end. */
export class Demand {
  readonly #limits: PoolLimits;
  readonly #byDigest = new Map<string, KnownProfile>();
  /** Digests of profiles that stay in use without requests. */
  readonly #pinned = new Set<string>();

  constructor(limits: PoolLimits) {
    this.#limits = limits;
  }

  /** The profiles in use, the last requested one first. */
  get profiles(): readonly KnownProfile[] {
    return [...this.#byDigest.values()].sort((one, other) => other.requestedAt - one.requestedAt);
  }

  recordRequest(profile: ChildProfile, now: number): void {
    const { digest } = profile;
    const { requests = 0, failures = 0, pausedUntil = 0 } = this.#byDigest.get(digest) ?? {};
    this.#byDigest.set(digest, {
      profile,
      requests: requests + 1,
      requestedAt: now,
      failures,
      outdated: 0,
      pausedUntil: failures === 0 ? 0 : pausedUntil,
    });
  }

  /** Keeps a profile in use, even without requests. */
  pin(profile: ChildProfile, now: number): void {
    this.#pinned.add(profile.digest);
    this.recordRequest(profile, now);
  }

  /** Records that a child of the profile was taken for a conversation. */
  recordSuccess(digest: string): void {
    const known = this.#byDigest.get(digest);
    if (known !== undefined) this.#byDigest.set(digest, { ...known, failures: 0, pausedUntil: 0 });
  }

  /**
   * Records that a child of the profile failed. Each failure in a row doubles the pause before the next start.
   *
   * @returns whether it is the first in a row, which should be reported
   */
  recordFailure(digest: string, now: number): boolean {
    const known = this.#byDigest.get(digest);
    if (known === undefined) return true;
    const { failures } = known;
    this.#byDigest.set(digest, {
      ...known,
      failures: failures + 1,
      pausedUntil: now + pauseMs(failures),
    });
    return failures === 0;
  }

  /**
   * Records that a child became outdated without a request. The pause avoids a start for each change of files that
   * change often.
   */
  recordOutdated(digest: string, now: number): void {
    const known = this.#byDigest.get(digest);
    if (known === undefined) return;
    const { outdated, pausedUntil } = known;
    this.#byDigest.set(digest, {
      ...known,
      outdated: outdated + 1,
      pausedUntil: Math.max(pausedUntil, now + pauseMs(outdated)),
    });
  }

  /** Removes profiles without requests for `idleMs`, and returns their digests. */
  removeUnused(now: number): readonly string[] {
    const unused = this.profiles.filter(({ requestedAt, profile: { digest } }) =>
      now - requestedAt >= this.#limits.idleMs && !this.#pinned.has(digest)
    );
    for (const { profile: { digest } } of unused) this.#byDigest.delete(digest);
    return unused.map(({ profile: { digest } }) => digest);
  }

  /**
   * Decides which child to start next, and which profile has to give up a child for it.
   *
   * A profile that was requested once gets a child only if there is room. Otherwise a caller with a new profile each
   * time would evict profiles that are requested again and again.
   *
   * @param waiting the number of warm children of each profile, by its digest
   */
  planNext(
    waiting: ReadonlyMap<string, number>,
    now: number,
  ): { readonly start: ChildProfile; readonly evict?: string } | undefined {
    const { warm, max } = this.#limits;
    const count = [...waiting.values()].reduce((sum, each) => sum + each, 0);
    const has = (known: KnownProfile) => waiting.get(known.profile.digest) ?? 0;
    for (const known of this.profiles) {
      if (known.pausedUntil > now || has(known) >= warm) continue;
      if (count < max) return { start: known.profile };
      if (known.requests < 2 || max === 0) continue;
      const oldest = this.profiles.findLast((each) =>
        each.requestedAt < known.requestedAt && has(each) > 0
      );
      if (oldest !== undefined) return { start: known.profile, evict: oldest.profile.digest };
    }
    return undefined;
  }

  /** When to plan again without any event; infinity for never. */
  nextCheckAt(now: number): number {
    return Math.min(
      ...this.profiles.flatMap(({ profile: { digest }, requestedAt, pausedUntil }) => [
        this.#pinned.has(digest) ? Infinity : requestedAt + this.#limits.idleMs,
        pausedUntil > now ? pausedUntil : Infinity,
      ]),
    );
  }
}

/** The pause after `before` earlier failures, in milliseconds. */
function pauseMs(before: number): number {
  return Math.min(FIRST_PAUSE_MS * 2 ** before, MAX_PAUSE_MS);
}
