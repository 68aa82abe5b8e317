import { preservedLines } from "./single/compact_metadata.ts";
import { framesOfEntry } from "./single/frames_of_entry.ts";
import { hookEndIn, hookFrames, hookRemarks, isAhead, isTold } from "./single/hook_frames.ts";
import { startTask, taskFramesOfEntry } from "./single/task_frames.ts";
import {
  isAheadOfOutcome,
  isBoundary,
  isEnd,
  isSummary,
  tellOutcome,
  tellTyped,
} from "./compaction.ts";
import { endWritten, tellAnswerLine, tellBeforeUser } from "./live/live_answers.ts";
import { forgetShells, noteShells } from "./live/long_shells.ts";
import { noteShellCalls, tellReturnedShells } from "./live/shell_output.ts";
import { placeOf, tellMessage } from "./messages.ts";
import { endTurn } from "./results.ts";
import { begin, beginTurn } from "./telling/beginning.ts";
import { and, chained, type FramesState, listOf, type Told, told } from "./telling/frames_state.ts";
import { say, sayEarly, tellTasks } from "./telling/saying.ts";
import { tellResult } from "./turn_result.ts";
import type { Subagent, SubagentLine } from "../session/input.ts";
import {
  type AssistantEntry,
  type AttachmentEntry,
  blockedPrompt,
  type ContentBlock,
  type Entry,
  isResumption,
  type SystemEntry,
  type UserEntry,
} from "../transcript/entry.ts";
import { isJsonObject } from "../transcript/json_object.ts";
import { keptEntry } from "../transcript/kept_entry.ts";
import { isMainRequest } from "../transcript/session_listing.ts";
import {
  enqueuedNotification,
  parseTaskNotification,
  type TaskNotification,
} from "../transcript/task_notification.ts";
import { isCommandText } from "../transcript/turn.ts";
import type { Frame } from "../wire/frame.ts";
import { isVersionAtLeast } from "../wire/wire_keys.ts";

/** Tells all lines since the last time, in the order in which they were written. */
export function tellLines(before: FramesState): Told {
  if (before.own === undefined && before.subagents === undefined) return told(before);
  const frames: Frame[] = [];
  let state: FramesState = { ...before, own: undefined, subagents: undefined, mirrored: 0 };
  const own = hooksFirst(before, beginningFirst(before, listOf(before.own)));
  for (const { entry, subagent } of inOrder(own, listOf(before.subagents))) {
    const next = subagent === undefined
      ? isEarly(state, entry) ? told(withNotice(state, entry)) : tellOwnLine(state, entry)
      : tellSubagentLine(state, { entry, subagent });
    state = next.state;
    frames.push(...next.frames);
  }
  const { taskIds } = state;
  return and(
    and(told(state, frames), (state) => tellNotices(state, (id) => taskIds.has(id))),
    endWritten,
  );
}

/**
 * Whether a line tells the end of a task whose beginning has not been told: Claude Code writes it at once, and the lines
 * of the answer that began the task 0.1 s later.
 */
function isEarly({ taskIds }: FramesState, entry: Entry): boolean {
  const notice = noticeIn(entry);
  return notice !== undefined && !taskIds.has(notice.taskId);
}

/** Whether a line tells that a task was stopped, of which the caller knows: it was stopped because of that. */
function isToldToBeStopped({ tasks, taskIds }: FramesState, entry: Entry): boolean {
  const { taskId = "", status } = noticeIn(entry) ?? {};
  return status === "killed" && taskIds.has(taskId) && !tasks.has(taskId);
}

function withNotice(state: FramesState, entry: Entry): FramesState {
  return { ...state, notices: [...state.notices, entry] };
}

/** Tells ends of tasks that had to wait for the beginnings; or that wait in vain. */
export function tellNotices(
  before: FramesState,
  isDue: (taskId: string) => boolean = () => true,
): Told {
  const due = before.notices.filter((entry) => isDue(noticeIn(entry)?.taskId ?? ""));
  if (due.length === 0) return told(before);
  const notices = before.notices.filter((entry) => !due.includes(entry));
  return due.reduce<Told>(
    (said, entry) => and(said, (state) => tellOwnLine(state, entry)),
    told({ ...before, notices }),
  );
}

/**
 * Puts the lines with which a run begins before what follows from them: where answers come at once, those lines may be
 * written later, and on a busy machine 2.1.197 writes the first call of a tool with them, behind its result. What is
 * noted of the request has no place among them.
 */
function beginningFirst(state: FramesState, entries: readonly Entry[]): readonly Entry[] {
  if (isUnderWay(state)) return entries;
  const ordered = parentsFirst(entries);
  const answer = ordered.findIndex(({ type }) => type === "assistant");
  if (answer < 0) return ordered;
  const [before, later] = [ordered.slice(0, answer), ordered.slice(answer)];
  return [
    ...before,
    ...later.filter(isOfRequest),
    ...later.filter((entry) => !isOfRequest(entry)),
  ];
}

/** Puts each line behind the one that it follows from, if that is among them, and leaves them as they are otherwise. */
function parentsFirst(entries: readonly Entry[]): readonly Entry[] {
  const missing = new Set(entries.flatMap((entry) => lineId(entry) ?? []));
  const waiting = new Map<string, Entry[]>();
  const result: Entry[] = [];
  for (const entry of entries) {
    const parent = entry.type === "other" ? undefined : entry.parentUuid;
    if (typeof parent === "string" && missing.has(parent) && parent !== lineId(entry)) {
      waiting.set(parent, [...waiting.get(parent) ?? [], entry]);
      continue;
    }
    const due = [entry];
    for (let next = due.shift(); next !== undefined; next = due.shift()) {
      result.push(next);
      const id = lineId(next);
      if (id === undefined) continue;
      missing.delete(id);
      due.unshift(...waiting.get(id) ?? []);
      waiting.delete(id);
    }
  }
  // Lines that follow from each other in a circle are nobody's.
  return [...result, ...[...waiting.values()].flat()];
}

function lineId(entry: Entry): string | undefined {
  return entry.type === "other" ? undefined : entry.uuid;
}

/**
 * Puts the ends of hooks where `claude -p` tells them: of those that were run for a tool's result before that and all that
 * other hooks say of the call, of those that were run for a prompt before the prompt, and of those that were run for the
 * session before all else. Transcripts hold them behind, 2.1.197 now and then behind the first answer.
 */
function hooksFirst(state: FramesState, entries: readonly Entry[]): readonly Entry[] {
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

/** Whether the first turn of the child has begun: before it, others may have been told that needed no child. */
function isUnderWay({ begun, rested, prompt }: FramesState): boolean {
  return begun && !(rested && prompt === undefined);
}

function isOfRequest(entry: Entry): boolean {
  return entry.type === "other" && `${entry.line.type}`.startsWith("api-request");
}

/** So many lines are no beginning: what they hold back would take up memory. */
const MOST_EARLY = 200;

/**
 * The version of Claude Code that has written a first answer before the lines with which its run begins; they follow
 * within 0.1 s. Since 2.1.330 those of its request are the last of them.
 */
export function earlyAnswer(state: FramesState): string | undefined {
  const { own, prompt, version } = state;
  if (isUnderWay(state) || (own?.length ?? 0) > MOST_EARLY) return undefined;
  const lines = listOf(own);
  const answer = lines.find((line) =>
    line.type === "assistant" &&
    (line.message.model !== "<synthetic>" || line.isApiErrorMessage === true)
  );
  if (answer === undefined || answer.type === "other") return undefined;
  const writer = version ?? answer.version ?? "";
  const isBegun = isVersionAtLeast(writer, "2.1.330")
    ? lines.some((entry) => entry.type === "other" && isMainRequest(entry.line))
    : prompt !== undefined || lines.some(isPrompt);
  return isBegun ? undefined : writer;
}

/** Tells a line of the session's own transcript, and before a prompt what became of the turn that it follows. */
function tellLine(before: FramesState, entry: Entry): Told {
  const [end, ...ended] = before.ended;
  const asked = askedIn(entry);
  const place = asked === undefined ? -1 : placeOf(before, asked);
  const isNews = place >= 0 || notificationIn(entry) !== undefined;
  if (end !== undefined && isPrompt(entry) && isNews && before.spoken) {
    return and(tellResult({ ...before, ended }, end), (state) => tellLine(state, entry));
  }
  const isBlocked = entry.type === "system" && blockedPrompt(entry) !== undefined;
  const next = and(
    asked === undefined
      ? isBlocked ? beginTurn(before) : told(before)
      : tellAsked(before, { entry, place }),
    (state) => tellPlainLine(state, entry),
  );
  const isOver = entry.type === "system" && entry.subtype === "turn_duration" && end !== undefined;
  return isOver ? and(next, (state) => tellResult({ ...state, ended }, end)) : next;
}

/** Begins the turn of a prompt that follows another one, and tells that the child has taken it. */
function tellAsked(
  state: FramesState,
  { entry, place }: { readonly entry: Entry; readonly place: number },
): Told {
  const line = entry.type === "other" ? {} : entry;
  const isNext = state.rested && place >= 0 && isPrompt(entry) && state.version !== undefined;
  const uuid = lineId(entry);
  const next: FramesState = isNext && uuid !== undefined
    ? { ...state, begins: new Set([...state.begins, uuid]) }
    : state;
  const message = and(
    isNext ? beginTurn(next) : told(next),
    (state) => tellMessage(state, place, line),
  );
  if (isNext) {
    const { lifecycle, others } = parted(message.frames);
    return and(and(told(message.state, lifecycle), begin), (state) => told(state, others));
  }
  if (message.state.begun) return message;
  // Nothing else is told before `system/init`.
  const { lifecycle, others } = parted(message.frames);
  return told({ ...message.state, early: [...message.state.early, ...others] }, lifecycle);
}

function parted(frames: readonly Frame[]) {
  const isLifecycle = ({ type }: Frame) => type === "command_lifecycle";
  return {
    lifecycle: frames.filter(isLifecycle),
    others: frames.filter((frame) => !isLifecycle(frame)),
  };
}

function isPrompt(entry: Entry): boolean {
  return entry.type === "user" && entry.meaning === "prompt" && entry.isSidechain !== true;
}

/** The text of a prompt, or of a message that became a part of the turn under way. */
function askedIn(entry: Entry): string | undefined {
  if (isPrompt(entry) && entry.type === "user") {
    const { content } = entry.message;
    return typeof content === "string"
      ? content
      : content.map(({ text }) => typeof text === "string" ? text : "").join("");
  }
  if (entry.type !== "attachment" || entry.attachment.type !== "queued_command") return undefined;
  const { prompt } = entry.attachment;
  return typeof prompt === "string" ? prompt : undefined;
}

/** Tells a line of the session's own transcript in its place among those of a compaction. */
function tellOwnLine(state: FramesState, entry: Entry): Told {
  // On a busy machine they may be written after the prompt that they make room for.
  if ((state.prompt === undefined || !state.spoken) && isResumption(entry)) return told(state);
  if (state.closed) return told(state);
  // `claude -p` does not even refuse them.
  if (state.overspent && entry.type === "user" && entry.meaning === "tool-result") {
    return told(state);
  }
  if (state.version === undefined && entry.type !== "other" && entry.version !== undefined) {
    return tellOwnLine({ ...state, version: entry.version }, entry);
  }
  const id = lineId(entry);
  const isTold = id === undefined ? undefined : state.preserved.get(id);
  if (isTold === true) return told(state);
  const seen = id === undefined || isTold === undefined
    ? state
    : { ...state, preserved: new Map([...state.preserved, [id, true]]) };
  if (isAheadOfOutcome(seen, entry)) {
    return told({ ...seen, ahead: chained(seen.ahead, entry) });
  }
  if (isEnd(entry)) return and(tellWaiting(seen), (state) => tellLine(state, entry));
  const next = and(tellOutcome(seen, entry), (state) => tellLine(state, entry));
  if (isBoundary(entry)) return and(next, (state) => told(noteBoundary(state, entry)));
  return isSummary(entry) ? and(next, tellAhead) : next;
}

/** Tells the lines that still wait for the outcome of a compaction, though nobody tells it any more. */
export function tellWaiting(state: FramesState): Told {
  const compactions = state.compactions.filter(({ done }) => !done)
    .map((each) => ({ ...each, overdue: true }));
  return tellAhead({ ...state, compactions });
}

/** Tells the lines that had to wait for the outcome of a compaction. */
export function tellAhead(state: FramesState): Told {
  const lines = listOf(state.ahead);
  return lines.reduce<Told>(
    (said, entry) => and(said, (state) => tellOwnLine(state, entry)),
    told({ ...state, ahead: undefined, unsummed: false }),
  );
}

/** Notes which lines are written once more, and that a summary follows. */
function noteBoundary(state: FramesState, entry: SystemEntry): FramesState {
  const preserved = preservedLines(entry);
  const written = preserved.length === 0 ? [] : listOf(state.entries);
  const ids = new Set(written.map(lineId));
  return {
    ...state,
    unsummed: true,
    preserved: new Map(preserved.map((id) => [id, ids.has(id)])),
  };
}

/** Tells a line of the session's own transcript. */
function tellPlainLine(state: FramesState, entry: Entry): Told {
  const notification = notificationIn(entry);
  if (notification !== undefined && state.notices.length > 0) {
    return and(tellNotices(state), (state) => tellPlainLine(state, entry));
  }
  // The end of the run stops tasks, and the child may still tell the model so.
  if (state.ending && notification?.status === "killed") return told({ ...state, closed: true });
  const version = state.version ?? (entry.type === "other" ? undefined : entry.version);
  const prompt = entry.type === "user" && entry.meaning === "prompt" && entry.isSidechain !== true
    ? entry
    : state.prompt;
  const kept = keptEntry(entry);
  const noted: FramesState = {
    ...state,
    entries: kept === undefined ? state.entries : chained(state.entries, kept),
    spoken: (state.spoken && !isPrompt(entry)) || entry.type === "assistant" ||
      (entry.type === "user" && !isPrompt(entry)),
    ...(prompt === undefined ? {} : { prompt }),
    ...(version === undefined ? {} : { version }),
  };
  if (version === undefined) return told(noted);
  const begun = prompt !== undefined && isLastOfListing(entry, version)
    ? begin(noted)
    : told(noted);
  let next = and(
    and(begun, (state) => tellReturnedShells(state, entry)),
    (state) =>
      isToldToBeStopped(state, entry)
        ? told(state)
        : tellTasks(state, (context) => taskFramesOfEntry(state.tasks, entry, context)),
  );
  if (!isCommandText(entry, prompt)) next = and(next, (state) => sayLine(state, entry));
  next = and(next, (state) => tellTyped(state, entry));
  if (entry.type === "assistant") {
    next = and(next, (state) => noteCalls(noteShells(state, entry), entry));
    next = and(next, (state) => noteShellCalls(state, entry));
  }
  if (entry.type === "user") {
    next = and(next, (state) => told(forgetCalls(forgetShells(state, entry), entry)));
  }
  if (entry.type === "system" && entry.subtype === "turn_duration") next = and(next, endTurn);
  return notification === undefined
    ? next
    : and(next, (state) => begin({ ...state, begun: false, rested: false }));
}

/** The end of a task, as a line tells it that the child writes as soon as it hears of it. */
function noticeIn(entry: Entry): TaskNotification | undefined {
  return entry.type === "other" ? enqueuedNotification(entry.line) : undefined;
}

/** Whether a line is the last of those that tell what `system/init` holds. */
function isLastOfListing(entry: Entry, version: string): boolean {
  return isVersionAtLeast(version, "2.1.330")
    ? entry.type === "other" && isMainRequest(entry.line)
    : entry.type === "attachment" && entry.attachment.type === "skill_listing";
}

/** Says what a line gives by itself, and as what it is a part of an answer that is told as it is written. */
function sayLine(before: FramesState, entry: Entry): Told {
  const ended = tellHookEnd(before, entry);
  return and(and(ended, (state) => sayWords(state, entry)), (state) => {
    const { state: next, frames } = sayEarly(state, (context) => hookRemarks(entry, context));
    // The turn they belong to begins with its `system/init`.
    return frames.length === 0 || next.begun
      ? told(next, frames)
      : told({ ...next, early: [...next.early, ...frames] });
  });
}

/** Says that a hook has run, where that is wanted. */
function tellHookEnd(state: FramesState, entry: Entry): Told {
  const end = hookEndIn(entry);
  if (end === undefined || !isTold(end, { all: state.options.hookEvents === true })) {
    return told(state);
  }
  const speak = isAhead(end) ? sayEarly : say;
  return speak(state, (context) => hookFrames(end, context));
}

function sayWords(state: FramesState, entry: Entry): Told {
  if (entry.type === "assistant" && entry.isSidechain !== true) return tellAnswerLine(state, entry);
  const before = entry.type === "user" && entry.isSidechain !== true
    ? tellBeforeUser(state, entry)
    : told(state);
  return and(before, (state) => say(state, (context) => framesOfEntry(entry, context)));
}

/** Tells a line of a subagent's transcript, once its call is known. */
function tellSubagentLine(state: FramesState, line: SubagentLine): Told {
  const { subagent: { agentId, toolUseId, type, description }, entry } = line;
  const call = state.toolUses.get(toolUseId);
  if (call === undefined || state.version === undefined) {
    return told({ ...state, uncalled: [...state.uncalled, line] });
  }
  // What a subagent says of being stopped is not said in its turn.
  if (state.ending && state.tasks.get(agentId)?.background === true) return told(state);
  const input = isJsonObject(call.input) ? call.input : {};
  // Since 2.1.330 a call has to say so if the turn is to wait.
  const background = isVersionAtLeast(state.version, "2.1.330")
    ? input.run_in_background !== false
    : input.run_in_background === true;
  const started = state.taskIds.has(agentId) ? told(state) : tellTasks(
    state,
    (context) =>
      startTask(state.tasks, {
        id: agentId,
        toolUseId,
        type: "local_agent",
        description,
        background,
        agentType: type,
        ...(typeof input.prompt === "string" ? { prompt: input.prompt } : {}),
      }, context),
  );
  const subagent = { toolUseId, agentId, type, description, background };
  const next = and(
    and(
      and(and(started, endWritten), (state) => tellReturnedShells(state, entry)),
      (state) => tellHookEnd(state, entry),
    ),
    (state) => say(state, (context) => framesOfEntry(entry, { ...context, subagent })),
  );
  if (entry.type !== "assistant") return next;
  return and(
    and(next, (state) => noteCalls(state, entry)),
    (state) => noteShellCalls(state, entry),
  );
}

function noteCalls(state: FramesState, { message }: AssistantEntry): Told {
  const calls = message.content.flatMap(({ type, id, name, input }) =>
    type === "tool_use" && typeof id === "string" && typeof name === "string"
      ? [{ id, name, input }]
      : []
  );
  if (calls.length === 0 && state.uncalled.length === 0) return told(state);
  const toolUses = new Map(state.toolUses);
  for (const call of calls) toolUses.set(call.id, call);
  let next = told({ ...state, toolUses, uncalled: [] });
  for (const line of state.uncalled) next = and(next, (state) => tellSubagentLine(state, line));
  return next;
}

/** Forgets the calls whose results a line holds, but for those of subagents, which may go on in the background. */
function forgetCalls(state: FramesState, { message }: UserEntry): FramesState {
  if (typeof message.content === "string") return state;
  const toolUses = new Map(state.toolUses);
  let { failed } = state;
  for (const { tool_use_id: id, is_error } of message.content) {
    const call = typeof id === "string" ? toolUses.get(id) : undefined;
    if (call === undefined || call.name === "Agent" || call.name === "Task") continue;
    toolUses.delete(call.id);
    // What a refused call was given is a part of the result.
    if (is_error === true) failed = chained(failed, call);
  }
  return toolUses.size === state.toolUses.size ? state : { ...state, toolUses, failed };
}

/** What the prompt of a turn says that the end of a task started. */
function notificationIn(entry: Entry): TaskNotification | undefined {
  return entry.type === "user" && entry.isSidechain !== true && entry.meaning === "prompt"
    ? parseTaskNotification(entry.message.content)
    : undefined;
}

/** A line of the session's own transcript, or of a subagent's. */
interface WrittenLine {
  readonly entry: Entry;
  readonly subagent?: Subagent;
}

/**
 * Puts lines that were written to several transcripts meanwhile into the order of their times. Those of one transcript
 * stay as they are, but for the ends of tasks, which are written before what came before them; one without a time
 * belongs to the one before it.
 */
function inOrder(
  own: readonly Entry[],
  subagents: readonly SubagentLine[],
): readonly WrittenLine[] {
  const isNotice = (entry: Entry) => noticeIn(entry) !== undefined;
  const lines = own.filter((entry) => !isNotice(entry)).map((entry) => ({ entry }));
  if (subagents.length === 0 && lines.length === own.length) return lines;
  const notices = own.filter(isNotice).map((entry) => ({ entry }));
  return [...timed(lines), ...timed(subagents), ...timed(notices)]
    .sort((one, other) => one.time - other.time).map(({ line }) => line);
}

function timed(
  lines: readonly WrittenLine[],
): readonly { readonly line: WrittenLine; readonly time: number }[] {
  let latest = 0;
  return lines.map((line) => {
    const { entry } = line;
    const stamp = entry.type === "other" ? entry.line.timestamp : entry.timestamp;
    const time = typeof stamp === "string" ? Date.parse(stamp) : NaN;
    latest = Math.max(latest, Number.isNaN(time) ? 0 : time);
    return { line, time: latest };
  });
}
