import { hookEndIn, hookFrames, isAhead, isHookTold } from "../frames/hook_frames.ts";
import { isUnderWay, type OutputState, type OutputStep } from "../output_state.ts";
import { asText } from "../../../json_object.ts";
import type { Frame } from "../../../claude/wire/frame.ts";
import {
  type AttachmentEntry,
  type ContentBlock,
  type Entry,
  isPrompt,
} from "../../../claude/transcript/entry.ts";
import { emitAfterInit, emitImmediately } from "../emit_frames.ts";

/**
 * Puts the ends of hooks where `claude -p` tells them: of those that were run for a call before its result and all that
 * hooks say of it, of those that were run for a prompt before the prompt, and of those that were run for the
 * session before all else. Transcripts hold them later, now and then after the first answer.
 */
export function hooksFirst(state: OutputState, entries: readonly Entry[]): readonly Entry[] {
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

/** Hooks that are run for a call. */
const OF_CALLS = ["PreToolUse", "PostToolUse", "PostToolUseFailure"];

function placeOfHook(before: readonly Entry[], { hookEvent, toolUseID }: ContentBlock): number {
  if (hookEvent === "UserPromptSubmit") return before.findLastIndex(isPrompt);
  if (!OF_CALLS.includes(asText(hookEvent))) return -1;
  return before.findIndex((entry) =>
    entry.type === "attachment"
      ? entry.attachment.type === "hook_system_message" && entry.attachment.toolUseID === toolUseID
      : entry.type === "user" && typeof entry.message.content !== "string" &&
        entry.message.content.some(({ tool_use_id: id }) => id !== undefined && id === toolUseID)
  );
}

/**
 * The ends of Stop hooks with which lines end so far, and what they say, beside which others may run: each is written as it
 * ends, and behind them that all have.
 */
export function stopsAtEnd(lines: readonly Entry[]): readonly Entry[] {
  const isStop = (entry: Entry) => hookEndIn(entry)?.event === "Stop";
  const last = lines.findLastIndex((entry) =>
    entry.type !== "other" && !isStop(entry) && !isOfStop(entry)
  );
  const first = lines.findIndex((entry, place) => place > last && isStop(entry));
  return first < 0 ? [] : lines.slice(first);
}

/** Whether a line tells what a Stop hook says to the user or to the model, or what became of one of this program. */
function isOfStop(entry: Entry): boolean {
  return entry.type === "attachment" && entry.attachment.hookEvent === "Stop";
}

/**
 * Puts what is told of hooks that ran side by side into the order of `claude -p`, which starts all of them before the
 * first one ends, and tells what they say to the user behind their ends, but for Stop hooks: behind the end of each. That
 * they have begun is told here with their ends, which are written together.
 */
export function groupHooks(frames: readonly Frame[]): readonly Frame[] {
  if (frames.filter(isHookStart).length < 2) return frames;
  const result: Frame[] = [];
  let group: { readonly name: unknown; started: number; ended: number } | undefined;
  for (const frame of frames) {
    const { subtype, hook_name: name } = frame as Readonly<Record<string, unknown>>;
    const isOfGroup = group !== undefined && group.name === name;
    if (group !== undefined && isOfGroup && isHookStart(frame)) {
      result.splice(group.started++, 0, frame);
      group.ended++;
    } else if (group !== undefined && isOfGroup && subtype === "hook_response") {
      const isAheadOfRemarks = name !== "Stop" && result.slice(group.ended).every(isRemark);
      const place = isAheadOfRemarks ? group.ended : result.length;
      result.splice(place, 0, frame);
      group.ended = place + 1;
    } else {
      if (isHookStart(frame)) {
        group = { name, started: result.length + 1, ended: result.length + 1 };
      } else if (!staysBeside(frame, group?.name)) group = undefined;
      result.push(frame);
    }
  }
  return result;
}

/**
 * Puts what is told of the end of a subagent before the hooks that are run behind its call, as `claude -p` does: the
 * result of the call tells of it, which stands behind them.
 */
export function subagentEndsFirst(frames: readonly Frame[]): readonly Frame[] {
  if (!frames.some(isBehindSubagent)) return frames;
  const result: Frame[] = [];
  for (const frame of frames) {
    const { type, subtype } = frame;
    const isEnd = type === "system" &&
      (subtype === "task_updated" || subtype === "task_notification");
    const place = isEnd ? placeBeforeHooks(result) : -1;
    result.splice(place < 0 ? result.length : place, 0, frame);
  }
  return result;
}

/** Where the hooks begin with which frames end, and what they say to the user. */
function placeBeforeHooks(frames: readonly Frame[]): number {
  const other = frames.findLastIndex((frame) => !isBehindSubagent(frame) && !isRemark(frame));
  return frames.findIndex((frame, place) => place > other && isBehindSubagent(frame));
}

/** Whether a frame tells of a hook that has been run behind the call of a subagent. */
function isBehindSubagent(frame: Frame): boolean {
  return frame.type === "system" &&
    (frame.subtype === "hook_started" || frame.subtype === "hook_response") &&
    /^PostToolUse(?:Failure)?:Agent$/u.test(asText(frame["hook_name"]));
}

function isRemark({ type, subtype }: Frame): boolean {
  return type === "system" && subtype === "informational";
}

function isHookStart({ type, subtype }: Frame): boolean {
  return type === "system" && subtype === "hook_started";
}

/** What is told in between: what a hook says to the user and, at the end of a turn, to the model. */
function staysBeside(frame: Frame, name: unknown): boolean {
  return isRemark(frame) ||
    (frame.type === "user" && (name === "Stop" || name === "SubagentStop"));
}

/** Emits that a hook has run, if its events are wanted. */
export function emitHookEnd(step: OutputStep, entry: Entry): void {
  const end = hookEndIn(entry);
  const all = step.state.options.hookEvents === true;
  if (end === undefined || !isHookTold(end, { all })) return;
  const emit = isAhead(end) ? emitImmediately : emitAfterInit;
  emit(step, (context) => hookFrames(end, context));
}
