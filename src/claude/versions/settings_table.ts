import type { VersionProfile } from "./profile.ts";
import { factFor, type Since, sinceOf } from "./profile_index.ts";
import index from "./settings_index.json" with { type: "json" };

const INDEX: Since<Readonly<Record<string, string>>> = index;

/** The settings of profiles, by the version since which they hold. */
export function settingsTablesOf(profiles: readonly VersionProfile[]): typeof INDEX {
  return sinceOf(profiles, ({ settings }) => settings);
}

/** The tables that differ, each with the first version that has it. */
export const SETTINGS_TABLES: readonly (readonly [string, Readonly<Record<string, string>>])[] =
  Object.entries(INDEX);

/** What a version says of settings, as its profile has it: paths of keys by what they have to hold. */
export function settingsTableOf(version: string): Readonly<Record<string, string>> {
  return factFor(version, INDEX);
}
