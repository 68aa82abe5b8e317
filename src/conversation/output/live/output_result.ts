import type { UserEntry } from "../../../claude/transcript/entry.ts";
import type { FramesState } from "../telling/frames_state.ts";

/** Whether a line holds the result of a call by which a structured answer is given. */
export function isOfOutput({ outputCalls }: FramesState, { message }: UserEntry): boolean {
  return outputCalls !== undefined && typeof message.content !== "string" &&
    message.content.some(({ tool_use_id: id }) => typeof id === "string" && outputCalls.has(id));
}
