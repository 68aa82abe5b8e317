import type { Entry, UserEntry } from "./entry.ts";

/**
 * A goal (`/goal …`, 2.1.330): Claude Code tells the model of it, asks one at each end of a turn whether it is
 * reached, and goes on if not. It is noted in the transcript, and a session that is resumed pursues it again.
 */
export const GOAL_COMMAND = "goal";

const PROMPT = /^<command-name>\/goal<\//u;
/** What the model is told in its place. */
const DIRECTIVE = /^A session-scoped Stop hook is now active with condition: /u;

/** Whether what somebody types sets a goal, or ends one. */
export function isGoalTyped(text: string): boolean {
  return /^\/goal\s/u.test(text);
}

/** Whether a prompt sets a goal, or does anything else to one. */
export function isGoal(prompt: UserEntry | undefined): boolean {
  const content = prompt?.message.content;
  return typeof content === "string" && PROMPT.test(content);
}

/** Whether a line only says that a goal is set, to the user or the model. */
export function isOfGoal(entry: UserEntry, prompt: UserEntry | undefined): boolean {
  const { content } = entry.message;
  return isGoal(prompt) &&
    (entry.meaning === "local-command" ||
      (entry.meaning === "remark" && typeof content === "string" && DIRECTIVE.test(content)));
}

/** Whether the session pursues a goal after a line that tells of one; undefined for any other line. */
export function pursuesAfter(entry: Entry): boolean | undefined {
  return entry.type === "attachment" && entry.attachment.type === "goal_status"
    ? entry.attachment["met"] === false
    : undefined;
}
