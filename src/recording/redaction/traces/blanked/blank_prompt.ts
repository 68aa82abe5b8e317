import { blankBetween } from "./blank_between.ts";
import { blankNotification } from "./blank_notification.ts";

/**
 * What a program knows a prompt by: a slash command, a tag, the name of a command in one, that the
 * structured answer is missing, that it was interrupted, that something in the background has ended.
 */
const KEPT =
  /^\s*\/[\w:.-]+|^(?:Stop hook feedback:\n)?\[structured-output-enforce\][^]*|<command-name>[^<]*<\/command-name>|<task-notification>(?:[^]*<\/result>)?[^]*?<\/task-notification>|<\/?[a-z][\w-]*>|\[Request interrupted by user[\w ]*\]/gu;

/**
 * A prompt that says nothing any more, but for what a program knows it by; as long as it was.
 *
 * @param options.answers whether the report of a subagent in it, if there is one, says nothing either
 */
export function blankPrompt(text: string, { answers }: { readonly answers: boolean }): string {
  return blankBetween(text, KEPT, (kept) => blankNotification(kept, { prompts: true, answers }));
}
