import { isJsonObject, type JsonObject } from "../../json_object.ts";
import type { SettingsFault } from "./settings_faults.ts";

/** Levels of objects and arrays in each other that Claude Code takes of settings, the settings themselves being the first. */
const DEEPEST = 64;

/** How much of a place is told: the first of its words, and keys that are plain. */
const SHOWN_KEYS = 6;
const PLAIN_KEY = /^[\w.-]{1,40}$/u;

/**
 * Settings without the objects and arrays that are nested too deeply, and what Claude Code says of those (2.1.330). An
 * earlier one takes them, and does nothing with what stands there.
 */
export function withoutDeepValues(
  settings: JsonObject,
): { readonly values: JsonObject; readonly faults: readonly SettingsFault[] } {
  const told = new Map<string, SettingsFault>();
  const values = Object.fromEntries(
    Object.entries(settings).map(([key, value]) => {
      const places: (readonly string[])[] = [];
      const taken = cut(value, { place: [key], found: (place) => places.push(place) });
      const fault = faultOf(key, places);
      if (fault !== undefined) told.set(`${fault.path} ${fault.message}`, fault);
      return [key, taken];
    }),
  );
  return { values, faults: [...told.values()] };
}

/** A value without what is too deep in it: itself, where that is nothing. */
function cut(
  value: unknown,
  { place, found }: {
    readonly place: readonly string[];
    readonly found: (place: readonly string[]) => void;
  },
): unknown {
  if (!isContainer(value)) return value;
  const entries = Object.entries(value).map(([key, each]) => {
    const within = [...place, key];
    if (!isContainer(each)) return { key, each, taken: each };
    if (within.length < DEEPEST) {
      return { key, each, taken: cut(each, { place: within, found }) };
    }
    found(within);
    return { key, each, taken: undefined };
  });
  if (entries.every(({ each, taken }) => taken === each)) return value;
  const kept = entries.filter(({ taken }) => taken !== undefined);
  if (Array.isArray(value)) return kept.map(({ taken }) => taken);
  return Object.fromEntries(kept.map(({ key, taken }) => [key, taken]));
}

function isContainer(value: unknown): value is JsonObject | readonly unknown[] {
  return Array.isArray(value) || isJsonObject(value);
}

/** What is said of all such places below a key: the last of them is named. */
function faultOf(
  key: string,
  places: readonly (readonly string[])[],
): SettingsFault | undefined {
  const last = places.at(-1);
  if (last === undefined) return undefined;
  const below = `under "${shown(key)}"`;
  const message = places.length === 1
    ? `A value ${below} is nested more than ${DEEPEST} levels deep, so Claude Code ignores it, and leaves it out if it`
    : `${places.length} values ${below} are nested more than ${DEEPEST} levels deep, so Claude Code ignores them, and leaves them out if it`;
  return {
    path: `${last.map(shown).join(".").split(".").slice(0, SHOWN_KEYS).join(".")}.…`,
    message: `${message} saves a setting to this file. Reduce the nesting ${below}.`,
  };
}

function shown(key: string): string {
  return PLAIN_KEY.test(key) ? key : "<key>";
}
