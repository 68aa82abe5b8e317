import type { Entry, UserEntry } from "./entry.ts";
import { isJsonObject } from "../../json_object.ts";

/**
 * The command that sets a goal (`/goal …`, 2.1.330). At the end of each turn Claude Code asks a model whether the goal is
 * reached, and continues if it is not. The transcript keeps the goal, so a resumed session continues with it.
 */
export const GOAL_COMMAND = "goal";

const PROMPT = /^<command-name>\/goal<\//u;
/** The prompt that Claude Code sends to the model in place of the command. */
const DIRECTIVE = /^A session-scoped Stop hook is now active with condition: /u;

/** Whether a typed text is the command that sets or ends a goal. */
export function isGoalCommand(text: string): boolean {
  return /^\/goal\s/u.test(text);
}

/** Whether a prompt's line is that of a goal command. */
export function isGoalPrompt(prompt: UserEntry | undefined): boolean {
  const content = prompt?.message.content;
  return typeof content === "string" && PROMPT.test(content);
}

/** Whether a line reports a goal to the user or the model, and asks nothing. */
export function isGoalReport(entry: UserEntry, prompt: UserEntry | undefined): boolean {
  const { content } = entry.message;
  return isGoalPrompt(prompt) &&
    (entry.meaning === "local-command" ||
      (entry.meaning === "remark" && typeof content === "string" && DIRECTIVE.test(content)));
}

/** Reads from a goal's status line whether the goal is still open; undefined for any other line. */
export function readGoalOpen(entry: Entry): boolean | undefined {
  return entry.type === "attachment" && entry.attachment.type === "goal_status"
    ? entry.attachment["met"] === false
    : undefined;
}

/** The type of the attachment that says that a hook has stopped a turn. */
export const STOPPED_BY_HOOK = "hook_stopped_continuation";

/** The reason that our hook gives when it stops a turn at its limit of requests. */
export const TURN_LIMIT_REASON = "The limit of turns is reached";

/** The output of a typed command, in its tag. */
const OUTPUT = /^<local-command-std(?:out|err)>([\s\S]*)<\/local-command-std(?:out|err)>$/u;
/** The output of a skill that runs in the background (2.1.330). */
const LAUNCHED = /^Running in the background as @/u;

/**
 * Reads the output of a typed command that Claude Code runs without the model. The line is a user's before 2.1.330 and
 * after a compaction, and a system line otherwise.
 *
 * @returns undefined for other lines, and for a command that still runs
 */
export function readCommandOutput(entry: Entry): string | undefined {
  const text = entry.type === "system" && entry.subtype === "local_command"
    ? entry["content"]
    : entry.type === "user" && entry.meaning === "local-command"
    ? entry.message.content
    : undefined;
  const output = typeof text === "string" ? OUTPUT.exec(text)?.[1] : undefined;
  return output === undefined || LAUNCHED.test(output) ? undefined : output;
}

/**
 * Finds the description of a skill in the listings that the model was given; empty if there is none.
 *
 * A listing has an item `- name: text` for each skill. The text may continue on the next lines.
 */
export function findSkillDescription(entries: readonly Entry[], name: string): string {
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
 * Reads the time at which the child will wake the model, in milliseconds since the epoch. `never` if the line cancels the
 * wake-up or is the wake-up itself; undefined for every other line.
 *
 * A session has at most one wake-up: each call of `ScheduleWakeup` replaces it (2.1.330). Before that version the tool
 * schedules nothing in a child.
 */
export function readScheduledWakeup(entry: Entry): number | "never" | undefined {
  if (entry.type !== "user" || entry.isSidechain === true) return undefined;
  if (entry["wakeupSource"] === "loop_wakeup") return "never";
  const { toolUseResult: outcome } = entry;
  if (!isJsonObject(outcome) || !("clampedDelaySeconds" in outcome)) return undefined;
  const { scheduledFor } = outcome;
  return typeof scheduledFor === "number" && scheduledFor > 0 ? scheduledFor : "never";
}

/** The result that the model gets for a call that the caller's hook deferred. Later runs find the call by it. */
export const DEFERRED_RESULT =
  "This call was deferred and has not been carried out: whoever goes on with the session decides on it";

/** Whether a line is an answer with text and without a tool call. An agent can end only with such an answer. */
export function isTextAnswer(entry: Entry): boolean {
  if (entry.type !== "assistant") return false;
  const { content } = entry.message;
  return content.some(({ type }) => type === "text") &&
    content.every(({ type }) => type !== "tool_use");
}
