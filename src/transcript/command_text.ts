import type { Entry, UserEntry } from "./entry.ts";

/**
 * Whether a line is the text that a slash command made out of a prompt: it follows the prompt, is the model's to read,
 * and neither a frame nor a turn of its own in `claude -p` (2.1.168 to 2.1.330).
 */
export function isCommandText(entry: Entry, prompt: UserEntry | undefined): boolean {
  return entry.type === "user" && entry.meaning === "remark" && prompt?.uuid !== undefined &&
    entry.parentUuid === prompt.uuid && prompt.meaning === "prompt" &&
    typeof prompt.message.content === "string" &&
    prompt.message.content.startsWith("<command-");
}
