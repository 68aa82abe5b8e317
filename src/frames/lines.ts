import { blockedPrompt } from "../transcript/blocked_prompt.ts";
import { isCommandText } from "../transcript/turn.ts";
import type { AssistantEntry, Entry, SystemEntry, UserEntry } from "../transcript/entry.ts";
import { isJsonObject } from "../transcript/json_object.ts";
import { isResumption } from "../transcript/resumption.ts";
import { keptEntry } from "../transcript/kept_entry.ts";
import { isMainRequest } from "../transcript/session_listing.ts";
import { parseTaskNotification, type TaskNotification } from "../transcript/task_notification.ts";
import type { Subagent, SubagentLine } from "../session/input.ts";
import type { Frame } from "../wire/frame.ts";
import { begin, beginTurn } from "./beginning.ts";
import { preservedLines } from "./build/compact_metadata.ts";
import {
  isAheadOfSummary,
  isBoundary,
  isEnd,
  isSummary,
  tellOutcome,
  tellTyped,
} from "./compaction.ts";
import { framesOfEntry } from "./build/frames_of_entry.ts";
import { and, chained, type FramesState, listOf, type Told, told } from "./frames_state.ts";
import { forgetShells, noteShells } from "./long_shells.ts";
import { placeOf, tellMessage } from "./messages.ts";
import { endTurn } from "./results.ts";
import { endWritten, tellAnswerLine, tellBeforeUser } from "./live_answers.ts";
import { say, tellTasks } from "./saying.ts";
import { noteShellCalls, tellReturnedShells } from "./shell_output.ts";
import { startTask, taskFramesOfEntry } from "./build/task_frames.ts";
import { tellResult } from "./turn_result.ts";

/** Tells all lines since the last time, in the order in which they were written. */
export function tellLines(before: FramesState): Told {
  if (before.own === undefined && before.subagents === undefined) return told(before);
  const frames: Frame[] = [];
  let state: FramesState = { ...before, own: undefined, subagents: undefined };
  for (const { entry, subagent } of inOrder(listOf(before.own), listOf(before.subagents))) {
    const next = subagent === undefined
      ? tellOwnLine(state, entry)
      : tellSubagentLine(state, { entry, subagent });
    state = next.state;
    frames.push(...next.frames);
  }
  return and(told(state, frames), endWritten);
}

/** Tells a line of the session's own transcript, and before a prompt what became of the turn that it follows. */
function tellLine(before: FramesState, entry: Entry): Told {
  const [end, ...ended] = before.ended;
  const asked = askedIn(entry);
  const place = asked === undefined ? -1 : placeOf(before, asked);
  if (end !== undefined && isPrompt(entry) && place >= 0 && before.spoken) {
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
  const { uuid } = entry.type === "other" ? {} : entry;
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
  if (state.prompt === undefined && isResumption(entry)) return told(state);
  if (state.closed) return told(state);
  // `claude -p` does not even refuse them.
  if (state.overspent && entry.type === "user" && entry.meaning === "tool-result") {
    return told(state);
  }
  if (state.version === undefined && entry.type !== "other" && entry.version !== undefined) {
    return tellOwnLine({ ...state, version: entry.version }, entry);
  }
  const id = entry.type === "other" ? undefined : entry.uuid;
  const isTold = id === undefined ? undefined : state.preserved.get(id);
  if (isTold === true) return told(state);
  const seen = id === undefined || isTold === undefined
    ? state
    : { ...state, preserved: new Map([...state.preserved, [id, true]]) };
  if (isAheadOfSummary(seen, entry)) {
    return told({ ...seen, ahead: chained(seen.ahead, entry) });
  }
  if (isEnd(entry)) return and(tellWaiting(seen), (state) => tellLine(state, entry));
  const next = and(tellOutcome(seen, entry), (state) => tellLine(state, entry));
  if (isBoundary(entry)) return and(next, (state) => told(noteBoundary(state, entry)));
  return isSummary(entry) ? and(next, tellAhead) : next;
}

/** Tells the lines that still wait for a summary, though none comes any more. */
export function tellWaiting(state: FramesState): Told {
  const compactions = state.compactions.filter(({ done }) => !done);
  return tellAhead({ ...state, compactions });
}

/** Tells the lines that had to wait for a summary. */
function tellAhead(state: FramesState): Told {
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
  const ids = new Set(written.map((entry) => entry.type === "other" ? undefined : entry.uuid));
  return {
    ...state,
    unsummed: true,
    preserved: new Map(preserved.map((id) => [id, ids.has(id)])),
  };
}

/** Tells a line of the session's own transcript. */
function tellPlainLine(state: FramesState, entry: Entry): Told {
  const notification = notificationIn(entry);
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
  const begun = entry.type === "other" && prompt !== undefined && isMainRequest(entry.line)
    ? begin(noted)
    : told(noted);
  let next = and(
    and(begun, (state) => tellReturnedShells(state, entry)),
    (state) => tellTasks(state, (context) => taskFramesOfEntry(state.tasks, entry, context)),
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

/** Says what a line gives by itself, and as what it is a part of an answer that is told as it is written. */
function sayLine(state: FramesState, entry: Entry): Told {
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
  const background = input.run_in_background === true;
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
    and(and(started, endWritten), (state) => tellReturnedShells(state, entry)),
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
 * stay as they are; one without a time belongs to the one before it.
 */
export function inOrder(
  own: readonly Entry[],
  subagents: readonly SubagentLine[],
): readonly WrittenLine[] {
  const lines = own.map((entry) => ({ entry }));
  if (subagents.length === 0) return lines;
  return [...timed(lines), ...timed(subagents)].sort((one, other) => one.time - other.time)
    .map(({ line }) => line);
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
