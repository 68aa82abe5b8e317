import type { Entry } from "./entry.ts";

/** What a command says that was typed, around which Claude Code puts a tag. */
const OUTPUT = /^<local-command-std(?:out|err)>([\s\S]*)<\/local-command-std(?:out|err)>$/u;
/** What it says of a skill whose subagent nobody waits for (2.1.330). */
const LAUNCHED = /^Running in the background as @/u;

/**
 * What a line says that a typed command has said, which Claude Code has carried out by itself: in the user's name before
 * 2.1.330, and where it has compacted the conversation, otherwise in its own.
 *
 * @returns undefined for another line, and for a command that is still at work
 */
export function commandOutput(entry: Entry): string | undefined {
  const text = entry.type === "system" && entry.subtype === "local_command"
    ? entry["content"]
    : entry.type === "user" && entry.meaning === "local-command"
    ? entry.message.content
    : undefined;
  const output = typeof text === "string" ? OUTPUT.exec(text)?.[1] : undefined;
  return output === undefined || LAUNCHED.test(output) ? undefined : output;
}
