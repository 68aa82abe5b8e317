import type { VersionProfile } from "./profile.ts";
import { factFor, type Since, sinceOf } from "./profile_index.ts";
import index from "./settings_index.json" with { type: "json" };

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
export function settingsTableOf(version: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(INDEX).map(([message, since]) => [message, factFor(version, since)]),
  );
}
