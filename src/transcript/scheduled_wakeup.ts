import { type Entry, isPrompt } from "./entry.ts";
import { resultText } from "./kept_entry.ts";

/** What the tool says of a wake-up that is to come (2.1.330). */
const SCHEDULED = /^Next wakeup scheduled for (?<time>[\d:]+)/u;

/**
 * The time at which the model has had itself woken last (`ScheduleWakeup`, since 2.1.330), as the tool tells it, such as
 * `21:32:00`; undefined where nothing is to come.
 */
export function scheduledWakeup(entries: readonly Entry[]): string | undefined {
  let call: string | undefined;
  let time: string | undefined;
  for (const entry of entries) {
    if (entry.type === "other" || entry.isSidechain === true) continue;
    // With a prompt, be it that of the wake-up, there is none to come any more.
    if (isPrompt(entry)) time = undefined;
    if (entry.type === "assistant") {
      const scheduling = entry.message.content.findLast(({ type, name }) =>
        type === "tool_use" && name === "ScheduleWakeup"
      );
      if (typeof scheduling?.id === "string") call = scheduling.id;
    }
    if (entry.type !== "user" || typeof entry.message.content === "string") continue;
    const result = entry.message.content.find(({ tool_use_id: id }) =>
      call !== undefined && id === call
    );
    if (result !== undefined) time = SCHEDULED.exec(resultText(result.content))?.groups?.["time"];
  }
  return time;
}
