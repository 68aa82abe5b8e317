import { hookEndIn, hookFrames, isHookPrinted, runsBeforeInit } from "../frames/hook_frames.ts";
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
 * Moves the ends of hooks to the place at which `claude -p` prints them. Hooks of a call come before the call's result
 * and the messages about it, hooks of a prompt before the prompt, and hooks of the session first of all. Transcripts
 * hold them later, sometimes after the first answer.
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

/** Hook events of a call. */
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
 * Returns the ends of Stop hooks, and their messages, that are the last lines. Other Stop hooks may still run: Claude
 * Code writes each end immediately, and another line after the last one.
 */
export function stopsAtEnd(lines: readonly Entry[]): readonly Entry[] {
  const isStop = (entry: Entry) => hookEndIn(entry)?.event === "Stop";
  const last = lines.findLastIndex((entry) =>
    entry.type !== "other" && !isStop(entry) && !isOfStop(entry)
  );
  const first = lines.findIndex((entry, place) => place > last && isStop(entry));
  return first < 0 ? [] : lines.slice(first);
}

/** Whether a line holds a message of a Stop hook to the user or the model, or the outcome of a hook of this program. */
function isOfStop(entry: Entry): boolean {
  return entry.type === "attachment" && entry.attachment.hookEvent === "Stop";
}

/**
 * Puts the frames of hooks that ran at the same time into the order of `claude -p`: all starts, all ends, then the
 * messages to the user. A Stop hook's messages come after its end. The starts are not in the transcript; their frames
 * are made together with those of the ends.
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
      const isBeforeRemarks = name !== "Stop" && result.slice(group.ended).every(isRemark);
      const place = isBeforeRemarks ? group.ended : result.length;
      result.splice(place, 0, frame);
      group.ended = place + 1;
    } else {
      if (isHookStart(frame)) {
        group = { name, started: result.length + 1, ended: result.length + 1 };
      } else if (!isMessageOfHook(frame, group?.name)) group = undefined;
      result.push(frame);
    }
  }
  return result;
}

/**
 * Moves the end of a subagent before the hooks that run after its call, as `claude -p` prints it. The transcript shows
 * this end only in the result of the call, after those hooks.
 */
export function subagentEndsFirst(frames: readonly Frame[]): readonly Frame[] {
  if (!frames.some(isHookAfterSubagent)) return frames;
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

/** Returns the index of the first hook frame or hook message at the end of the frames. */
function placeBeforeHooks(frames: readonly Frame[]): number {
  const other = frames.findLastIndex((frame) => !isHookAfterSubagent(frame) && !isRemark(frame));
  return frames.findIndex((frame, place) => place > other && isHookAfterSubagent(frame));
}

/** Whether a frame belongs to a hook that ran after the call of a subagent. */
function isHookAfterSubagent(frame: Frame): boolean {
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

/** Whether a frame is a message of a hook to the user or, at the end of a turn, to the model. */
function isMessageOfHook(frame: Frame, name: unknown): boolean {
  return isRemark(frame) ||
    (frame.type === "user" && (name === "Stop" || name === "SubagentStop"));
}

/** Emits that a hook has run, if the caller wants hook events. */
export function emitHookEnd(step: OutputStep, entry: Entry): void {
  const end = hookEndIn(entry);
  const all = step.state.options.hookEvents === true;
  if (end === undefined || !isHookPrinted(end, { all })) return;
  const emit = runsBeforeInit(end) ? emitImmediately : emitAfterInit;
  emit(step, (context) => hookFrames(end, context));
}
