/**
 * Lets the monotonic clock of this thread leap, which is that of runs that are carried out in it: whatever has a limit of
 * time has used it up, however long it has taken so far.
 *
 * @module
 */

const now = performance.now.bind(performance);
let aheadMs = 0;
performance.now = () => now() + aheadMs;

/** From now on it is so much later, in milliseconds. */
export function leap(ms: number): void {
  aheadMs += ms;
}
