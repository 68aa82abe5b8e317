/**
 * Loaded before a program, lets its calendar jump by a day to and fro, ten times a second. What it measures with the
 * monotonic clock stays true.
 *
 * @module
 */

const DAY_MS = 24 * 3600 * 1000;
const now = Date.now;

Date.now = () => now() + (Math.floor(performance.now() / 100) % 2 === 0 ? DAY_MS : -DAY_MS);
globalThis.Date = new Proxy(Date, {
  construct: (date, args) => Reflect.construct(date, args.length === 0 ? [Date.now()] : args),
});
