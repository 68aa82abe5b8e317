/** How Claude Code writes the end of a limit: `2am (UTC)`, `2:09am (Europe/Berlin)`, `Nov 25, 2:09am (UTC)`. */
const TIME =
  /^(?:([A-Z][a-z]{2}) (\d{1,2})(?:, (\d{4}))?,? (?:at )?)?(\d{1,2})(?::(\d{2}))?\s?([ap])m \(([^()]{1,60})\)$/u;

const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");
const DAY_MS = 24 * 3600 * 1000;

/**
 * The time that Claude Code's words for the end of a limit mean, in seconds since the epoch: the next such time. They
 * name no seconds and round down to a minute.
 *
 * @param words such as `2:09am (UTC)`
 * @param now milliseconds since the epoch
 * @returns undefined for what is no such time
 */
export function resetTime(words: string, now: number): number | undefined {
  const match = TIME.exec(words.trim());
  if (match === null) return undefined;
  const [, month, day, year, hour, minute = "0", half, timeZone = ""] = match;
  const offsetAt = offsetsOf(timeZone);
  if (offsetAt === undefined) return undefined;
  const there = new Date(now + offsetAt(now));
  const at = {
    year: Number(year ?? there.getUTCFullYear()),
    month: month === undefined ? there.getUTCMonth() : MONTHS.indexOf(month),
    day: Number(day ?? there.getUTCDate()),
    hour: Number(hour) % 12 + (half === "p" ? 12 : 0),
    minute: Number(minute),
  };
  if (at.month < 0 || Number(hour) > 12 || at.minute > 59) return undefined;
  const instant = (days: number) => {
    const local = Date.UTC(at.year, at.month, at.day + days, at.hour, at.minute);
    return local - offsetAt(local - offsetAt(local));
  };
  // A limit without a date is one of the next 24 hours; the minute that has begun is meant, not tomorrow's.
  const isPast = month === undefined && instant(0) < now - 60_000;
  return Math.round(instant(isPast ? 1 : 0) / 1000);
}

/** How far a time zone is ahead of UTC at an instant, in milliseconds; undefined for what is no time zone. */
function offsetsOf(timeZone: string): ((at: number) => number) | undefined {
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat("en-US", {
      timeZone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
    });
  } catch {
    return undefined;
  }
  return (at) => {
    const parts = Object.fromEntries(
      format.formatToParts(at).map(({ type, value }) => [type, Number(value)]),
    );
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0 } = parts;
    const minutes = Math.floor(at / 60_000) * 60_000;
    const offset = Date.UTC(year, month - 1, day, hour, minute) - minutes;
    return Math.abs(offset) > DAY_MS ? 0 : offset;
  };
}
