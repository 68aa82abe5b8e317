import type { HookPayload } from "./input.ts";

/**
 * Whether a hook tells that the turn has failed. That of an agent does not: the turn goes on without it, as it does when
 * the agent fails that makes the summary of a compaction (2.1.197 and 2.1.330).
 */
export function isTurnFailure(event: string, payload: HookPayload): boolean {
  return event === "StopFailure" && payload["agent_id"] === undefined;
}
