import type { Entry } from "./entry.ts";
import { isJsonObject } from "../../json_object.ts";

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
