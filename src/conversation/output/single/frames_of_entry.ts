import { assistantFrames } from "./assistant_frames.ts";
import type { FrameContext } from "./frame_context.ts";
import { systemFrames } from "./system_frames.ts";
import { userFrames } from "./user_frames.ts";
import type { Entry } from "../../../claude/transcript/entry.ts";
import { isDeferral } from "../../../claude/transcript/turn/turn.ts";
import type { Frame } from "../../../claude/wire/frame.ts";

/**
 * Turns a line of the transcript into the frames `claude -p` prints for it.
 *
 * Prompts, attachments and bookkeeping lines give none. Known differences: `usage` holds the final
 * output tokens, not the first count; a call of an MCP tool has no `tool_use_meta`, because the
 * transcript does not know the tool's title; a `rate_limit_event` only tells of a limit that was hit;
 * there are no `system/thinking_tokens` and `system/notification` frames. What a line says about
 * tasks is told by `taskFramesOfEntry`.
 */
export function framesOfEntry(entry: Entry, context: FrameContext): readonly Frame[] {
  if (entry.type === "other" || entry.type === "attachment") return [];
  if (entry.isSidechain === true && context.subagent === undefined) return [];
  switch (entry.type) {
    case "assistant":
      return assistantFrames(entry, context);
    case "user":
      return isDeferral(entry) ? [] : userFrames(entry, context);
    case "system":
      return systemFrames(entry, context);
  }
}
