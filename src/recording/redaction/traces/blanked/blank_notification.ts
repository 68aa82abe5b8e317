import { blankText } from "./blank_text.ts";
import type { SaidParts } from "./said_parts.ts";

const BEGIN = "<task-notification>";
/** What a subagent was for, as Claude Code tells the model how it ended. */
const LABEL = /(?<=<summary>Agent ")[^]*?(?=" [\w ]+[^<]*<\/summary>)/u;

/**
 * A text in which Claude Code tells the model that a subagent has ended: what that was for, and what it reports, say
 * nothing any more. Any other text stays.
 */
export function blankNotification(text: string, { prompts, answers }: SaidParts): string {
  if (!text.includes(BEGIN)) return text;
  const labelled = prompts ? text.replace(LABEL, blankText) : text;
  if (!answers) return labelled;
  // The report may hold such tags itself.
  const begin = labelled.indexOf("<result>", labelled.indexOf(BEGIN)) + "<result>".length;
  const end = labelled.lastIndexOf("</result>");
  return begin < "<result>".length || end < begin
    ? labelled
    : labelled.slice(0, begin) + blankText(labelled.slice(begin, end)) + labelled.slice(end);
}
