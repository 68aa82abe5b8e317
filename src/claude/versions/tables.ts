import type { VersionProfile } from "./profile.ts";
import { factFor, type Since, sinceOf, wordsOf } from "./profile_index.ts";
import index from "./tables_index.json" with { type: "json" };

/** What is looked up while a run is prepared, by the version since which it holds. */
export interface TablesIndex {
  readonly commands: Readonly<Record<keyof VersionProfile["commands"], Since<string>>>;
  readonly hookEvents: Since<string>;
  readonly tools: Since<string>;
  readonly flags: Since<string>;
}

const INDEX: TablesIndex = index;

/** The tables of profiles. */
export function tablesOf(profiles: readonly VersionProfile[]): TablesIndex {
  return {
    commands: {
      prompt: sinceOf(profiles, ({ commands }) => commands.prompt),
      local: sinceOf(profiles, ({ commands }) => commands.local),
      unavailable: sinceOf(profiles, ({ commands }) => commands.unavailable),
    },
    hookEvents: sinceOf(profiles, ({ hookEvents }) => hookEvents),
    tools: sinceOf(profiles, ({ tools }) => tools),
    flags: sinceOf(profiles, ({ flags }) => flags),
  };
}

/** The slash commands of a version, by what `claude -p` makes of them. */
export function commandsOf(version: string): VersionProfile["commands"] {
  const { prompt, local, unavailable } = INDEX.commands;
  return {
    prompt: factFor(version, prompt),
    local: factFor(version, local),
    unavailable: factFor(version, unavailable),
  };
}

/** The events that hooks of a version may have, in the order in which Claude Code lists them. */
export function hookEventsOf(version: string): readonly string[] {
  return wordsOf(factFor(version, INDEX.hookEvents));
}

/** The names of tools that permission rules of a version know. */
export function toolsOf(version: string): readonly string[] {
  return wordsOf(factFor(version, INDEX.tools));
}

/** Tells whether a version has a flag, with a value or without. */
export function hasFlag(version: string, flag: string): boolean {
  const flags = wordsOf(factFor(version, INDEX.flags));
  return flags.includes(flag) || flags.includes(`${flag}=`);
}
