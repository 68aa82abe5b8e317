import type { UserEntry } from "../../transcript/entry.ts";
import type { StreamEvent } from "../../wire/message_frames.ts";
import { isVersionAtLeast } from "../../claude/versions/compare_versions.ts";
import type { FramesState } from "../telling/frames_state.ts";

/**
 * Whether an event of an answer's end comes after the result of the structured answer that it gives, which `claude -p` has
 * as soon as the call is whole.
 */
export function isAfterOutput(
  { version = "" }: FramesState,
  { type }: StreamEvent,
): boolean {
  return type === "message_stop" ||
    (type === "message_delta" && !isVersionAtLeast(version, "2.1.330"));
}

/** Whether a line holds the result of a call by which a structured answer is given. */
export function isOfOutput({ outputCalls }: FramesState, { message }: UserEntry): boolean {
  return outputCalls !== undefined && typeof message.content !== "string" &&
    message.content.some(({ tool_use_id: id }) => typeof id === "string" && outputCalls.has(id));
}
