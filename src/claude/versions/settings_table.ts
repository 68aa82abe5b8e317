import type { VersionProfile } from "./profile.ts";
import { factFor, type Since, sinceOf } from "./profile_index.ts";
import index from "./settings_index.json" with { type: "json" };

/** By what is said of wrong values: the settings of which it is said, by the version since which it holds. */
type SettingsIndex = Readonly<Record<string, Since<string>>>;

const INDEX: SettingsIndex = index;

/** The settings of profiles. */
export function settingsIndexOf(profiles: readonly VersionProfile[]): SettingsIndex {
  const messages = new Set(profiles.flatMap(({ settings }) => Object.keys(settings)));
  return Object.fromEntries(
    [...messages].toSorted().map((message) => [
      message,
      sinceOf(profiles, ({ settings }) => settings[message] ?? ""),
    ]),
  );
}

/** What a version says of settings, as its profile has it: paths of keys by what they have to hold. */
export function settingsTableOf(version: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(INDEX).map(([message, since]) => [message, factFor(version, since)]),
  );
}
