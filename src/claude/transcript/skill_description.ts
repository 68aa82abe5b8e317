import type { Entry } from "./entry.ts";

/**
 * What the model has been told of a skill, by its name; empty where it has been told nothing.
 *
 * A listing has a line for each skill, `- name: text`, and a text may go on in the lines that follow.
 */
export function skillDescription(entries: readonly Entry[], name: string): string {
  let description = "";
  for (const entry of entries) {
    if (entry.type !== "attachment" || entry.attachment.type !== "skill_listing") continue;
    const { content, names } = entry.attachment;
    if (typeof content !== "string" || !Array.isArray(names)) continue;
    const isNext = (line: string) => names.some((each) => line.startsWith(`- ${each}`));
    const lines = content.split("\n");
    const start = lines.findIndex((line) => line.startsWith(`- ${name}: `));
    if (start < 0) continue;
    const rest = lines.slice(start + 1);
    const end = rest.findIndex(isNext);
    const own = [lines[start], ...rest.slice(0, end < 0 ? undefined : end)].join("\n");
    description = own.slice(`- ${name}: `.length);
  }
  return description;
}
