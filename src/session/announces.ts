/**
 * Whether the `last_assistant_message` of a hook's payload is a text of the transcript, or ends in it: an answer of
 * several blocks has a line for each, and Claude Code trims what it announces.
 */
export function announces(message: string, text: string): boolean {
  return text.trim() !== "" && message.trim().endsWith(text.trim());
}
