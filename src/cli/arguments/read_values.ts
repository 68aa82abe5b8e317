import { usageError } from "./usage_errors.ts";
import { MAX_DELAY_MS, parseDuration } from "../../duration.ts";

/** Reads one of several words. */
export function readChoice<Word extends string>(
  name: string,
  value: string,
  words: readonly Word[],
): Word {
  const word = words.find((each) => each === value);
  if (word !== undefined) return word;
  throw usageError(`${name} does not take "${value}"`, `Use one of ${words.join(", ")}`);
}

/** Reads a number from 0 to `max`. */
export function readNumber(
  name: string,
  value: string,
  { max }: { readonly max: number },
): number {
  const number = /^\d+(?:\.\d+)?$/u.test(value) ? Number(value) : NaN;
  if (number <= max) return number;
  throw usageError(`${name} does not take "${value}"`, `Use a number from 0 to ${max}`);
}

/** Reads a duration in milliseconds. A number without a unit means seconds. */
export function readDuration(
  name: string,
  value: string,
  { min = 1, max = MAX_DELAY_MS }: { readonly min?: number; readonly max?: number } = {},
): number {
  const milliseconds = parseDuration(value);
  if (milliseconds !== undefined && milliseconds >= min && milliseconds <= max) return milliseconds;
  const range = max === Infinity ? "" : `, up to ${Math.floor(max / 1000)}`;
  throw usageError(
    `${name} does not take "${value}"`,
    `Use 10s, 5m, 1h or a number of seconds${range}`,
  );
}
