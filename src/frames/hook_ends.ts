import { hookEndIn, hookFrames, isAhead, isHookTold } from "./single/hook_frames.ts";
import { type FramesState, isUnderWay, type Told, told } from "./telling/frames_state.ts";
import { say, sayEarly } from "./telling/saying.ts";
import {
  type AttachmentEntry,
  type ContentBlock,
  type Entry,
  isPrompt,
} from "../transcript/entry.ts";

/**
 * Puts the ends of hooks where `claude -p` tells them: of those that were run for a tool's result before that and all that
 * other hooks say of the call, of those that were run for a prompt before the prompt, and of those that were run for the
 * session before all else. Transcripts hold them behind, 2.1.197 now and then behind the first answer.
 */
export function hooksFirst(state: FramesState, entries: readonly Entry[]): readonly Entry[] {
  if (!entries.some(isHookEnd)) return entries;
  const isFirst = (entry: Entry) =>
    !isUnderWay(state) && isHookEnd(entry) && entry.attachment.hookEvent === "SessionStart";
  const result = entries.filter(isFirst);
  for (const entry of entries.filter((entry) => !isFirst(entry))) {
    const place = isHookEnd(entry) ? placeOfHook(result, entry.attachment) : -1;
    if (place < 0) result.push(entry);
    else result.splice(place, 0, entry);
  }
  return result;
}

function isHookEnd(entry: Entry): entry is AttachmentEntry {
  return entry.type === "attachment" && hookEndIn(entry) !== undefined;
}

function placeOfHook(before: readonly Entry[], { hookEvent, toolUseID }: ContentBlock): number {
  if (hookEvent === "UserPromptSubmit") return before.findLastIndex(isPrompt);
  if (hookEvent !== "PostToolUse" && hookEvent !== "PostToolUseFailure") return -1;
  return before.findIndex((entry) =>
    entry.type === "attachment"
      ? entry.attachment.type === "hook_system_message" && entry.attachment.toolUseID === toolUseID
      : entry.type === "user" && typeof entry.message.content !== "string" &&
        entry.message.content.some(({ tool_use_id: id }) => id !== undefined && id === toolUseID)
  );
}

/** Says that a hook has run, where that is wanted. */
export function tellHookEnd(state: FramesState, entry: Entry): Told {
  const end = hookEndIn(entry);
  if (end === undefined || !isHookTold(end, { all: state.options.hookEvents === true })) {
    return told(state);
  }
  const speak = isAhead(end) ? sayEarly : say;
  return speak(state, (context) => hookFrames(end, context));
}
