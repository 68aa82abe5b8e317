import index from "../versions/settings_index.json" with { type: "json" };
import { factFor, type Since, sinceOf, wordsOf } from "../versions/profile_index.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";
import { guardFaults, typeOf } from "./hook_faults.ts";
import type { VersionProfile } from "../versions/profile.ts";

/** Something in settings that Claude Code does not take. */
export interface SettingsFault {
  /** Where it stands: keys with dots between them; empty for all of the settings. */
  readonly path: string;
  /** What Claude Code says of it. */
  readonly message: string;
}

/** What Claude Code says of settings that are no JSON. */
export const MALFORMED = "Invalid or malformed JSON";

/** Numbers that count something, of which there is one at least. */
const COUNTS = ["cleanupPeriodDays", "skillListingMaxDescChars", "totalTokensReminderBudget"];

/** Another name for a value, which Claude Code takes and does not list. */
const MORE_CHOICES: Readonly<Record<string, string>> = { "permissions.defaultMode": "manual" };

/** What a value has to be. */
interface Expectation {
  /** What is said of another value; its own type comes after it if it tells a type. */
  readonly message: string;
  /** The types that are taken, and of texts those that are. */
  readonly types: readonly string[];
  readonly choices: readonly string[];
}

/** What is known of a place in settings. */
interface Place {
  expectation?: Expectation;
  /** Whether the object in which it stands has to have it. */
  isRequired?: boolean;
  readonly keys: Map<string, Place>;
  /** What any key holds, and any element. */
  any?: Place;
  element?: Place;
}

/**
 * What keeps a version of Claude Code from loading settings: with one such fault it drops all that stands beside it too.
 * Faults come in an order of their own.
 *
 * @param settings what a file or a flag holds, as JSON
 */
export function settingsFaults(settings: unknown, version: string): readonly SettingsFault[] {
  if (settings === null) return [{ path: "", message: MALFORMED }];
  if (!isJsonObject(settings)) {
    return [{ path: "", message: `Expected object, but received ${typeOf(settings)}` }];
  }
  return [
    ...faultsBelow(placesOf(version), { path: "", value: settings }),
    ...guardFaults(settings["hooks"], version),
  ];
}

/** What is wrong with a value, and with what stands in it. */
function faultsAt(
  place: Place,
  { path, value }: { readonly path: string; readonly value: unknown },
): readonly SettingsFault[] {
  if (value === undefined && place.isRequired !== true) return [];
  const { expectation } = place;
  if (expectation !== undefined && !isTaken(path, { value, expectation })) {
    const { message } = expectation;
    const type = message.startsWith("Expected ") ? `, but received ${typeOf(value)}` : "";
    return [{ path, message: `${message}${type}` }];
  }
  if (typeof value === "number" && COUNTS.includes(path)) {
    if (!Number.isInteger(value)) return [{ path, message: "Expected int, but received number" }];
    return value > 0 ? [] : [{ path, message: "Number must be greater than or equal to 0" }];
  }
  return faultsBelow(place, { path, value });
}

function faultsBelow(
  { keys, any, element }: Place,
  { path, value }: { readonly path: string; readonly value: unknown },
): readonly SettingsFault[] {
  const within = (key: string | number) => path === "" ? `${key}` : `${path}.${key}`;
  if (Array.isArray(value)) {
    if (element === undefined) return [];
    return value.flatMap((each, index) => faultsAt(element, { path: within(index), value: each }));
  }
  if (!isJsonObject(value)) return [];
  const named = keys.entries().flatMap(([key, place]) =>
    faultsAt(place, {
      path: within(key),
      value: Object.hasOwn(value, key) ? value[key] : undefined,
    })
  );
  if (any === undefined) return [...named];
  return Object.entries(value).flatMap(([key, each]) =>
    faultsAt(any, { path: within(key), value: each })
  );
}

function isTaken(
  path: string,
  { value, expectation: { message, types, choices } }: {
    readonly value: unknown;
    readonly expectation: Expectation;
  },
): boolean {
  // What takes several types takes lists of texts.
  const isList = message !== "Invalid input" || !Array.isArray(value) ||
    value.every((each) => typeof each === "string");
  return (types.includes(typeOf(value)) && isList) ||
    (typeof value === "string" && (choices.includes(value) || MORE_CHOICES[path] === value));
}

/** The places of the version that was read last: a run meets one version. */
let last: { readonly version: string; readonly places: Place } | undefined;

function placesOf(version: string): Place {
  if (last?.version === version) return last.places;
  const root: Place = { keys: new Map() };
  for (const [text, paths] of Object.entries(settingsTableOf(version))) {
    const expectation = expectationOf(text);
    for (const path of wordsOf(paths)) {
      const place = placeAt(root, path.replace(/!$/u, ""));
      place.expectation = expectation;
      if (path.endsWith("!")) place.isRequired = true;
    }
  }
  last = { version, places: root };
  return root;
}

/** The place at a path, made if it is not there: `a.b`, `a.*` for any key, `a[]` for any element. */
function placeAt(root: Place, path: string): Place {
  const fresh = (): Place => ({ keys: new Map() });
  return path.replaceAll("[]", ".[]").split(".").reduce((place, key) => {
    if (key === "*") return place.any ??= fresh();
    if (key === "[]") return place.element ??= fresh();
    const known = place.keys.get(key) ?? fresh();
    place.keys.set(key, known);
    return known;
  }, root);
}

/** Reads what a profile says of a value: Claude Code's message, and which types it takes besides. */
function expectationOf(text: string): Expectation {
  const [, message = "", also] = /^(.*?)(?: \(also ([a-z ]+)\))?$/u.exec(text) ?? [];
  const natural = /^Expected (\w+)$/u.exec(message)?.[1]?.replace("record", "object");
  const choices = /^Invalid value\. Expected one of: (.*)$/u.exec(message)?.[1] ?? "";
  return {
    message,
    types: [...(natural === undefined ? [] : [natural]), ...(also?.split(" ") ?? [])],
    choices: [...choices.matchAll(/"([^"]*)"/gu)].map(([, choice = ""]) => choice),
  };
}

/** The keys of settings by the message that Claude Code prints for a wrong value, and by the version that has them first. */
type SettingsIndex = Readonly<Record<string, Since<string>>>;

const INDEX: SettingsIndex = index;

/** Makes the index of several profiles: each list of keys is there once for the versions that share it. */
export function settingsIndexOf(profiles: readonly VersionProfile[]): SettingsIndex {
  const messages = new Set(profiles.flatMap(({ settings }) => Object.keys(settings)));
  return Object.fromEntries(
    [...messages].toSorted().map((message) => [
      message,
      sinceOf(profiles, ({ settings }) => settings[message] ?? ""),
    ]),
  );
}

/** Returns the settings of a version as its profile has them: paths of keys by the message for a wrong value. */
function settingsTableOf(version: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(INDEX).map(([message, since]) => [message, factFor(version, since)]),
  );
}

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
