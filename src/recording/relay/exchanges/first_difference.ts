import { pointerOf } from "./request_key.ts";

/** Where two texts of JSON differ first. */
export interface Difference {
  /** The place as a JSON pointer; empty for the whole, as for what is no JSON. */
  readonly pointer: string;
  /** What stands there on either side, in short; undefined for nothing. */
  readonly recorded: string | undefined;
  readonly asked: string | undefined;
}

/** Most characters of a value that are told, and how many of them stand ahead of where two texts part. */
const MOST = 120;
const AHEAD = 30;

/** How deep a place may be that is named. */
const DEEPEST = 100;

/** The first place where two texts differ, in the order of the one that was recorded; undefined where they do not. */
export function firstDifference(recorded: string, asked: string): Difference | undefined {
  if (recorded === asked) return undefined;
  const left: Pair[] = [{ names: [], one: parsed(recorded), other: parsed(asked) }];
  for (let pair = left.pop(); pair !== undefined; pair = left.pop()) {
    const { names, one, other } = pair;
    if (one === other) continue;
    const isLast = names.length === DEEPEST || !isHolder(one) || !isHolder(other) ||
      Array.isArray(one) !== Array.isArray(other);
    if (isLast) {
      return { pointer: pointerOf(names), ...inShort(one, other) };
    }
    const keys = [...new Set([...Object.keys(one), ...Object.keys(other)])];
    for (const key of keys.toReversed()) {
      left.push({ names: [...names, key], one: at(one, key), other: at(other, key) });
    }
  }
  // The order of keys, or white space.
  return { pointer: "", ...inShort(recorded, asked) };
}

interface Pair {
  readonly names: readonly string[];
  readonly one: unknown;
  readonly other: unknown;
}

function isHolder(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function at(holder: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(holder, key) ? holder[key] : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function inShort(one: unknown, other: unknown): Omit<Difference, "pointer"> {
  const [recorded, asked] = [shown(one), shown(other)];
  const from = recorded === undefined || asked === undefined
    ? 0
    : Math.max(0, commonLength(recorded, asked) - AHEAD);
  return { recorded: cut(recorded, from), asked: cut(asked, from) };
}

function shown(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return "a value that is too deep";
  }
}

function cut(text: string | undefined, from: number): string | undefined {
  if (text === undefined) return undefined;
  const part = text.slice(from, from + MOST);
  return `${from > 0 ? "…" : ""}${part}${from + MOST < text.length ? "…" : ""}`;
}

/** How many characters two texts have in common at their beginning. */
export function commonLength(one: string, other: string): number {
  const most = Math.min(one.length, other.length);
  let length = 0;
  while (length < most && one.charCodeAt(length) === other.charCodeAt(length)) length++;
  return length;
}
