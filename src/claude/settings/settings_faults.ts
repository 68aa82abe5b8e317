import index from "../versions/settings_index.json" with { type: "json" };
import { factFor, type Since, sinceOf, wordsOf } from "../versions/profile_index.ts";
import { isJsonObject } from "../../json_object.ts";
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
