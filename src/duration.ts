/** The maximum delay of timers, in milliseconds: almost 25 days. */
export const MAX_DELAY_MS: number = 2 ** 31 - 1;

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/**
 * Parses a duration such as `90`, `10s`, `1.5h` or `250ms`. A number alone counts seconds.
 *
 * @returns whole milliseconds, or undefined for anything else
 */
export function parseDuration(text: string): number | undefined {
  const [, number, unit = "s"] = /^(\d+\.?\d*|\.\d+)(ms|[smh])?$/u.exec(text) ?? [];
  return number === undefined ? undefined : Math.round(Number(number) * (UNIT_MS[unit] ?? NaN));
}
