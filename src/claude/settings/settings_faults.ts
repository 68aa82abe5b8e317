import index from "../versions/settings_index.json" with { type: "json" };
import { factFor, type Since, sinceOf, wordsOf } from "../versions/profile_index.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";
import { guardingHookFaults, typeOf } from "./hook_faults.ts";
import type { VersionProfile } from "../versions/profile.ts";

/** A value in settings that Claude Code does not accept. */
export interface SettingsFault {
  /** The keys that lead to the value, joined by dots; empty for the settings themselves. */
  readonly path: string;
  /** Claude Code's error message. */
  readonly message: string;
}

/** Claude Code's message for settings that are not JSON. */
export const MALFORMED = "Invalid or malformed JSON";

/** Keys whose numbers must be integers above 0. */
const POSITIVE_INTEGERS = [
  "cleanupPeriodDays",
  "skillListingMaxDescChars",
  "totalTokensReminderBudget",
];

/** Values that Claude Code accepts but does not list among the choices of its message, by the path of the key. */
const UNLISTED_CHOICES: Readonly<Record<string, string>> = { "permissions.defaultMode": "manual" };

/** The value that Claude Code expects. */
interface Expectation {
  /** The message for a wrong value. If it begins with "Expected ", the type of the value follows it. */
  readonly message: string;
  /** The accepted types, as `typeOf` names them. `choices` are the accepted strings. */
  readonly types: readonly string[];
  readonly choices: readonly string[];
}

/** A node of the tree of known keys. */
interface Place {
  expectation?: Expectation;
  /** True if the object that contains the key must have it. */
  isRequired?: boolean;
  readonly keys: Map<string, Place>;
  /** `any` is the node for every key of an object (`*`), `element` that for every element of an array (`[]`). */
  any?: Place;
  element?: Place;
}

/**
 * Returns the faults that keep a version of Claude Code from loading settings. One such fault makes it ignore all settings
 * of the same file or flag. The faults are in the order of the version's profile, not of the file.
 *
 * @param settings the parsed JSON of a settings file or flag
 */
export function settingsFaults(settings: unknown, version: string): readonly SettingsFault[] {
  if (settings === null) return [{ path: "", message: MALFORMED }];
  if (!isJsonObject(settings)) {
    return [{ path: "", message: `Expected object, but received ${typeOf(settings)}` }];
  }
  return [
    ...faultsBelow(placesOf(version), { path: "", value: settings }),
    ...guardingHookFaults(settings["hooks"], version),
  ];
}

/** Returns the faults of a value and of the values inside it. */
function faultsAt(
  place: Place,
  { path, value }: { readonly path: string; readonly value: unknown },
): readonly SettingsFault[] {
  if (value === undefined && place.isRequired !== true) return [];
  const { expectation } = place;
  if (expectation !== undefined && !isAccepted(path, { value, expectation })) {
    const { message } = expectation;
    const type = message.startsWith("Expected ") ? `, but received ${typeOf(value)}` : "";
    return [{ path, message: `${message}${type}` }];
  }
  if (typeof value === "number" && POSITIVE_INTEGERS.includes(path)) {
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

function isAccepted(
  path: string,
  { value, expectation: { message, types, choices } }: {
    readonly value: unknown;
    readonly expectation: Expectation;
  },
): boolean {
  // Keys that accept several types ("Invalid input") accept only arrays of strings.
  const isList = message !== "Invalid input" || !Array.isArray(value) ||
    value.every((each) => typeof each === "string");
  return (types.includes(typeOf(value)) && isList) ||
    (typeof value === "string" && (choices.includes(value) || UNLISTED_CHOICES[path] === value));
}

/** The tree of the version that was asked for last: a run uses one version. */
let cachedPlaces: { readonly version: string; readonly places: Place } | undefined;

function placesOf(version: string): Place {
  if (cachedPlaces?.version === version) return cachedPlaces.places;
  const root: Place = { keys: new Map() };
  for (const [text, paths] of Object.entries(settingsTableOf(version))) {
    const expectation = expectationOf(text);
    for (const path of wordsOf(paths)) {
      const place = placeAt(root, path.replace(/!$/u, ""));
      place.expectation = expectation;
      if (path.endsWith("!")) place.isRequired = true;
    }
  }
  cachedPlaces = { version, places: root };
  return root;
}

/** Finds or adds the node of a path: `a.b`, `a.*` for any key, `a[]` for any element. */
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

/** Parses the text of a profile: Claude Code's message, and further accepted types as in `(also string number)`. */
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

/** Paths of settings keys, by Claude Code's message for a wrong value, and then by the first version that has these keys. */
type SettingsIndex = Readonly<Record<string, Since<string>>>;

const INDEX: SettingsIndex = index;

/** Builds the index of several profiles. It stores equal lists of successive versions once. */
export function settingsIndexOf(profiles: readonly VersionProfile[]): SettingsIndex {
  const messages = new Set(profiles.flatMap(({ settings }) => Object.keys(settings)));
  return Object.fromEntries(
    [...messages].toSorted().map((message) => [
      message,
      sinceOf(profiles, ({ settings }) => settings[message] ?? ""),
    ]),
  );
}

/** Returns the `settings` of a version's profile: paths of keys by the message for a wrong value. */
function settingsTableOf(version: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(INDEX).map(([message, since]) => [message, factFor(version, since)]),
  );
}

/** Levels of objects and arrays that Claude Code 2.1.330 accepts in settings. The settings themselves are the first level. */
const MAX_SETTINGS_DEPTH = 64;

/** A printed path has at most so many words, and "<key>" in place of a key that is long or has other characters. */
const MAX_PATH_WORDS = 6;
const PLAIN_KEY = /^[\w.-]{1,40}$/u;

/**
 * Removes objects and arrays that are nested too deeply from settings. Returns the messages that Claude Code 2.1.330
 * shows for them. Earlier versions ignore such values without a message.
 */
export function withoutDeepValues(
  settings: JsonObject,
): { readonly values: JsonObject; readonly faults: readonly SettingsFault[] } {
  const faults = new Map<string, SettingsFault>();
  const values = Object.fromEntries(
    Object.entries(settings).map(([key, value]) => {
      const paths: (readonly string[])[] = [];
      const kept = cutDeepValues(value, { path: [key], onTooDeep: (path) => paths.push(path) });
      const fault = depthFault(key, paths);
      if (fault !== undefined) faults.set(`${fault.path} ${fault.message}`, fault);
      return [key, kept];
    }),
  );
  return { values, faults: [...faults.values()] };
}

/**
 * Returns a copy of a value without objects and arrays that are too deep, or the value itself if it has none.
 *
 * @param options.onTooDeep called with the keys that lead to each removed value
 */
function cutDeepValues(
  value: unknown,
  { path, onTooDeep }: {
    readonly path: readonly string[];
    readonly onTooDeep: (path: readonly string[]) => void;
  },
): unknown {
  if (!isContainer(value)) return value;
  const entries = Object.entries(value).map(([key, each]) => {
    const within = [...path, key];
    if (!isContainer(each)) return { key, each, trimmed: each };
    if (within.length < MAX_SETTINGS_DEPTH) {
      return { key, each, trimmed: cutDeepValues(each, { path: within, onTooDeep }) };
    }
    onTooDeep(within);
    return { key, each, trimmed: undefined };
  });
  if (entries.every(({ each, trimmed }) => trimmed === each)) return value;
  const kept = entries.filter(({ trimmed }) => trimmed !== undefined);
  if (Array.isArray(value)) return kept.map(({ trimmed }) => trimmed);
  return Object.fromEntries(kept.map(({ key, trimmed }) => [key, trimmed]));
}

function isContainer(value: unknown): value is JsonObject | readonly unknown[] {
  return Array.isArray(value) || isJsonObject(value);
}

/** Returns one fault for all removed values below a top-level key. It names the last one. */
function depthFault(
  key: string,
  paths: readonly (readonly string[])[],
): SettingsFault | undefined {
  const last = paths.at(-1);
  if (last === undefined) return undefined;
  const below = `under "${printableKey(key)}"`;
  const message = paths.length === 1
    ? `A value ${below} is nested more than ${MAX_SETTINGS_DEPTH} levels deep, so Claude Code ignores it, and leaves it out if it`
    : `${paths.length} values ${below} are nested more than ${MAX_SETTINGS_DEPTH} levels deep, so Claude Code ignores them, and leaves them out if it`;
  return {
    path: `${last.map(printableKey).join(".").split(".").slice(0, MAX_PATH_WORDS).join(".")}.…`,
    message: `${message} saves a setting to this file. Reduce the nesting ${below}.`,
  };
}

function printableKey(key: string): string {
  return PLAIN_KEY.test(key) ? key : "<key>";
}

/** The settings of a file or flag, and how Claude Code treats them. */
export interface ParsedSettings {
  readonly values: JsonObject;
  /** Why Claude Code ignores all of these settings; empty if it loads them. */
  readonly faults: readonly SettingsFault[];
  /** Faults of values that are nested too deeply. They are not in `values`. */
  readonly tooDeep?: readonly SettingsFault[];
  /** The parsed JSON until `checkSettings` has checked it, which needs the version of Claude Code. */
  readonly unchecked?: unknown;
}

/** Parses the value of a settings flag. Its types are checked later, by `checkSettings`. */
export function readSettingsValue(value: unknown): ParsedSettings {
  const { values, faults: tooDeep } = withoutDeepValues(isJsonObject(value) ? value : {});
  const isEmpty = isJsonObject(value) && Object.keys(value).length === 0;
  return {
    values,
    faults: [],
    ...(tooDeep.length > 0 ? { tooDeep } : {}),
    ...(isEmpty ? {} : { unchecked: isJsonObject(value) ? values : value }),
  };
}

/** Parses the text of a settings file as `readSettingsValue` does. */
export function readSettingsText(text: string): ParsedSettings {
  let settings: unknown;
  try {
    settings = JSON.parse(text);
  } catch {
    return unreadableSettings();
  }
  return readSettingsValue(settings);
}

/** Checks parsed settings as a version of Claude Code does. */
export function checkSettings<Document extends ParsedSettings>(
  { unchecked, ...document }: Document,
  version: string,
): Omit<Document, "unchecked"> {
  return unchecked === undefined
    ? document
    : { ...document, faults: settingsFaults(unchecked, version) };
}

/** Returns the result for settings that cannot be parsed: no values and one fault. */
export function unreadableSettings(message = MALFORMED): ParsedSettings {
  return { values: {}, faults: [{ path: "", message }] };
}
