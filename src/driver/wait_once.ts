import type { Outlet } from "../../ffi/descriptors/outlet.ts";
import type { Ready } from "../../ffi/descriptors/poll.ts";
import type { Resources } from "./resources.ts";
import type { RunSessionOptions } from "./run_session_options.ts";
import type { Caller } from "./inputs/caller/caller.ts";

/** How often a shell is looked at that is about to wait for it, in milliseconds. */
const AWAITED_MS = 2;
/** A poll that returns this much too late was not late by itself: this program was stopped meanwhile. */
const STOPPED_MS = 2000;
/** Most bytes owed to whoever reads the output while more of what shells write is taken up. */
const MOST_OWED = 1024 * 1024;
/** How long nobody may take frames before a run that has ended goes on without waiting for it, in milliseconds. */
const TAKEN_MS = 1000;

/** What a wait has found. */
export interface Waited {
  /** When it began, in milliseconds on the clock of inputs. */
  readonly polledAt: number;
  readonly ready: readonly Ready[];
  /** The outlets that owed something. */
  readonly owing: readonly Outlet[];
  /** Whether so much is owed that what shells write stays where it is. */
  readonly isPaused: boolean;
  /** Whether something was left to read, or is about to wait for being looked at. */
  readonly isBehind: boolean;
  readonly isAwaited: boolean;
  /** For how long this program was stopped, if it was. */
  readonly stoppedMs?: number;
}

/** Until when is waited at most, on the clock of inputs, and for whom. */
export interface WaitOptions {
  readonly until: number;
  readonly caller: Caller | undefined;
  readonly now: () => number;
}

/** Waits until there is something to hear or to write, or until it is time for something else. */
export async function waitOnce(
  { child, outlets = [], signals }: RunSessionOptions,
  { poller, terminal, written, rendezvous, bridges, shells }: Resources,
  { until, caller, now }: WaitOptions,
): Promise<Waited> {
  const polledAt = now();
  const owing = outlets.filter(({ pending }) => pending > 0);
  const isPaused = owing.some(({ pending }) => pending > MOST_OWED);
  const isBehind = (written.isBehind || shells?.hasMore === true) && !isPaused;
  const isAwaited = shells?.isAwaited === true && !isPaused;
  const waitMs = Math.max(0, Math.ceil(until - polledAt));
  const ready = await poller.wait(
    [
      { fd: child.hooks.fd, read: true },
      ...(child.exited ? [] : [{ fd: child.pidfd, read: true }]),
      ...terminal.interests,
      ...written.interests,
      ...rendezvous?.interests ?? [],
      ...bridges.flatMap(({ interests }) => interests),
      ...caller?.interests ?? [],
      ...isPaused ? [] : shells?.interests ?? [],
      ...owing.map(({ fd }) => ({ fd, write: true })),
    ],
    isBehind ? 0 : isAwaited ? Math.min(waitMs, AWAITED_MS) : waitMs,
  );
  if (signals.paused !== undefined) await signals.paused;
  const lateMs = now() - Math.max(until, polledAt);
  return {
    polledAt,
    ready,
    owing,
    isPaused,
    isBehind,
    isAwaited,
    ...(lateMs > STOPPED_MS ? { stoppedMs: lateMs } : {}),
  };
}

/** Waits until those take what they are owed that are owed much: true unless nobody takes anything. */
export async function waitForReaders(
  outlets: readonly Outlet[],
  { poller }: Pick<Resources, "poller">,
): Promise<boolean> {
  const owing = outlets.filter(({ pending }) => pending > MOST_OWED);
  if (owing.length === 0) return true;
  const ready = await poller.wait(owing.map(({ fd }) => ({ fd, write: true })), TAKEN_MS);
  for (const outlet of owing) outlet.flush();
  return ready.length > 0;
}
