import type { Entry } from "./entry.ts";

const REMARK = "Continue from where you left off.";
const ANSWER = "No response requested.";

/**
 * Whether a line only makes room for the next prompt: before that, 2.1.197 writes a remark of its own and an answer to it
 * when it resumes a session whose last line is no answer. `claude -p` writes them too, but neither prints nor counts
 * them.
 */
export function isResumption(entry: Entry): boolean {
  if (entry.type !== "user" && entry.type !== "assistant") return false;
  const { content } = entry.message;
  const [block, ...others] = typeof content === "string" ? [] : content;
  if (block === undefined || others.length > 0) return false;
  return entry.type === "user"
    ? entry.isMeta === true && block.text === REMARK
    : entry.message.model === "<synthetic>" && block.text === ANSWER;
}
