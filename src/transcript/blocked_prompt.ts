import type { SystemEntry } from "./entry.ts";

/** What Claude Code says, in the place of an answer, of a prompt that a UserPromptSubmit hook has blocked. */
export function blockedPrompt(
  { subtype, preventContinuation, content }: SystemEntry,
): string | undefined {
  return subtype === "informational" && preventContinuation === true && typeof content === "string"
    ? content
    : undefined;
}
