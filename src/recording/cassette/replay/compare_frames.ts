import type { AnyFrame } from "../../../claude/wire/any_frame.ts";
import { asText } from "../../../json_object.ts";

/**
 * Says where what is said differs from what was said: a sentence for the first frame that does, and one for frames that
 * are missing or more than there were.
 */
export function compareFrames(
  recorded: readonly AnyFrame[],
  now: readonly AnyFrame[],
): readonly string[] {
  for (const [index, frame] of recorded.entries()) {
    const other = now[index];
    if (other === undefined) break;
    const place = firstDifference(frame, other);
    if (place === undefined) continue;
    const { path, before, after } = place;
    return [
      `Frame ${index + 1} (${nameOf(frame)}): the recorded run printed ${shown(before)}${
        path === "" ? "" : ` as ${path}`
      }, and this one prints ${shown(after)}`,
    ];
  }
  const [missing, more] = [recorded[now.length], now[recorded.length]];
  if (missing !== undefined) {
    return [`The recorded run printed frame ${now.length + 1} (${nameOf(missing)}), this one not`];
  }
  return more === undefined
    ? []
    : [`This one prints frame ${recorded.length + 1} (${nameOf(more)}), the recorded run not`];
}

interface Difference {
  readonly path: string;
  readonly before: unknown;
  readonly after: unknown;
}

function firstDifference(before: unknown, after: unknown, path = ""): Difference | undefined {
  if (!isTree(before) || !isTree(after) || Array.isArray(before) !== Array.isArray(after)) {
    return Object.is(before, after) ? undefined : { path, before, after };
  }
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const found = firstDifference(
      before[key],
      after[key],
      path === "" ? key : `${path}.${key}`,
    );
    if (found !== undefined) return found;
  }
  return undefined;
}

function isTree(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function nameOf({ type, subtype }: AnyFrame): string {
  return subtype === undefined ? type : `${type}/${asText(subtype)}`;
}

/** Longer values are cut in a sentence. */
const MAX_SHOWN = 80;

function shown(value: unknown): string {
  const text = value === undefined ? "nothing" : JSON.stringify(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}
