import type { Entry } from "./entry.ts";

/** Whether a line is an answer in words that calls nothing: with such a one an agent may be done. */
export function isWords(entry: Entry): boolean {
  if (entry.type !== "assistant") return false;
  const { content } = entry.message;
  return content.some(({ type }) => type === "text") &&
    content.every(({ type }) => type !== "tool_use");
}
