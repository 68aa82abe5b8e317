import type { VersionProfile } from "./profile.ts";
import { factFor, type Since, sinceOf, wordsOf } from "./profile_index.ts";
import index from "./tables_index.json" with { type: "json" };

/** Lists that are needed while a run is prepared, by the first version that has them. */
export interface TablesIndex {
  readonly commands: Readonly<Record<keyof VersionProfile["commands"], Since<string>>>;
  readonly hookEvents: Since<string>;
  readonly tools: Since<string>;
  readonly flags: Since<string>;
}

const INDEX: TablesIndex = index;

/** Builds the index of several profiles. */
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

/** Returns the slash commands of a version, by how `claude -p` handles them. */
export function commandsOf(version: string): VersionProfile["commands"] {
  const { prompt, local, unavailable } = INDEX.commands;
  return {
    prompt: factFor(version, prompt),
    local: factFor(version, local),
    unavailable: factFor(version, unavailable),
  };
}

/** Returns the hook events of a version, in the order in which Claude Code lists them. */
export function hookEventsOf(version: string): readonly string[] {
  return wordsOf(factFor(version, INDEX.hookEvents));
}

/** Returns the names of tools in permission rules of a version. */
export function toolsOf(version: string): readonly string[] {
  return wordsOf(factFor(version, INDEX.tools));
}

/** Returns true if a version has a flag, with or without a value. */
export function hasFlag(version: string, flag: string): boolean {
  const flags = wordsOf(factFor(version, INDEX.flags));
  return flags.includes(flag) || flags.includes(`${flag}=`);
}
