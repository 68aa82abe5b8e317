import type { Entry, UserEntry } from "./entry.ts";
import { isJsonObject } from "../../json_object.ts";

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

/** The type of the attachment by which Claude Code notes that a hook has stopped a turn. */
export const HALTED = "hook_stopped_continuation";

/** What a hook of ours says that stops a turn which has made as many requests as it may. */
export const AT_LIMIT = "The limit of turns is reached";

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

/**
 * When the model is woken, in milliseconds since the epoch, as a line of the session tells that changes it; `never` where
 * nothing is to come any more, and undefined for every other line.
 *
 * There is one such time at most: a call of `ScheduleWakeup` takes the place of the one before (2.1.330). Before that the
 * tool schedules nothing in a child.
 */
export function scheduledWakeup(entry: Entry): number | "never" | undefined {
  if (entry.type !== "user" || entry.isSidechain === true) return undefined;
  if (entry["wakeupSource"] === "loop_wakeup") return "never";
  const { toolUseResult: outcome } = entry;
  if (!isJsonObject(outcome) || !("clampedDelaySeconds" in outcome)) return undefined;
  const { scheduledFor } = outcome;
  return typeof scheduledFor === "number" && scheduledFor > 0 ? scheduledFor : "never";
}

/** What the model is told of a call that a hook of the caller's has put off, and by which the call is known later. */
export const DEFERRED =
  "This call was deferred and has not been carried out: whoever goes on with the session decides on it";

/** Whether a line is an answer in words that calls nothing: with such a one an agent may be done. */
export function isWords(entry: Entry): boolean {
  if (entry.type !== "assistant") return false;
  const { content } = entry.message;
  return content.some(({ type }) => type === "text") &&
    content.every(({ type }) => type !== "tool_use");
}
