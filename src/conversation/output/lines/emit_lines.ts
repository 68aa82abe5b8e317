import { preservedLines } from "../frames/frames_of_entry.ts";
import { emitCompactionOutcome, isEnd, isSummary, waitsForOutcome } from "./compaction.ts";
import { endCompleteAnswer, openAnswerId } from "../live/live_answers.ts";
import { groupHooks, hooksFirst, stopsAtEnd, subagentEndsFirst } from "./hook_ends.ts";
import {
  beginningFirst,
  inOrder,
  isStopRequested,
  noticeIn,
  placesAmidAnswers,
  type WrittenLine,
} from "./line_order.ts";
import { isSame, placeOf, splitLifecycle, takeMessage, takeScheduledPrompt } from "../messages.ts";
import { runTurns } from "../turns/run_turns.ts";
import {
  hasPendingLines,
  type OutputState,
  type OutputStep,
  type TurnEnd,
} from "../output_state.ts";
import { chained, chainOf, listOf } from "../../../chain.ts";
import { isTextOf, type Message } from "../../control/message.ts";
import {
  type Entry,
  isCompactionBoundary,
  isPrompt,
  isResumptionFiller,
  isScheduledPrompt,
  readBlockedPrompt,
  type SystemEntry,
  type UserEntry,
} from "../../../claude/transcript/entry.ts";
import { lineId } from "../../../claude/transcript/entry_order.ts";
import { isJoinedEnd } from "../../../claude/transcript/turn.ts";
import { readTaskNotification } from "../../../claude/transcript/task_notification.ts";
import { emitAfterPendingResult, emitEarlyResults, emitTurnResult } from "../turns/turn_results.ts";
import { emitInit, startTurn } from "../emit_frames.ts";
import { emitPlainLine } from "./line_frames.ts";
import { emitSubagentLine } from "../subagents/subagent_lines.ts";

/** Emits the frames of all lines that have been read since the last time, in the order in which they were written. */
export function emitLines(step: OutputStep): void {
  const { ownLines, subagentLines, stopHookEnds } = step.state;
  if (!hasPendingLines(step.state) && stopHookEnds.length === 0) return;
  const ordered = hooksFirst(
    step.state,
    beginningFirst(step.state, [...stopHookEnds, ...listOf(ownLines)]),
  );
  const lines = inOrder(ordered, listOf(subagentLines));
  const amid = placesAmidAnswers(lines, openAnswerId(step.state));
  step.update({
    stopHookEnds: [],
    ownLines: undefined,
    subagentLines: undefined,
    awaitsSubagent: false,
    unstartedCall: undefined,
  });
  const frames = step.capture(() => {
    for (const [place, line] of lines.entries()) {
      step.update({ isAmidAnswer: amid.has(place) });
      emitAfterPendingResult(step, () => emitWrittenLine(step, line));
    }
  });
  step.emitAll(subagentEndsFirst(groupHooks(frames)));
  const { tasks } = step.state;
  emitAfterPendingResult(step, () => emitTaskEnds(step, (id) => tasks.has(id)));
  endCompleteAnswer(step);
}

function emitWrittenLine(step: OutputStep, { entry, subagent }: WrittenLine): void {
  if (subagent !== undefined) {
    emitSubagentLine(step, { entry, subagent });
  } else if (isEarlyTaskEnd(step.state, entry)) {
    step.update({ taskEndLines: [...step.state.taskEndLines, entry] });
  } else emitOwnLine(step, entry);
}

/**
 * Emits the frames of lines, except for ends of Stop hooks that are the last lines: other Stop hooks may still run, and
 * the ends of all Stop hooks are emitted together.
 */
export function emitReadLines(step: OutputStep): void {
  const { options, stopHookEnds, ownLines } = step.state;
  const lines = options.hookEvents === true ? [...stopHookEnds, ...listOf(ownLines)] : [];
  const stops = stopsAtEnd(lines);
  if (stops.length === 0) {
    emitLines(step);
    return;
  }
  step.update({ stopHookEnds: [], ownLines: chainOf(lines.slice(0, -stops.length)) });
  emitLines(step);
  step.update({ stopHookEnds: stops });
}

/**
 * Whether a line shows the end of a task whose beginning has not been emitted. Claude Code writes the end immediately,
 * but the lines of the answer that began the task 0.1 s later.
 */
function isEarlyTaskEnd(state: OutputState, entry: Entry): boolean {
  const notice = noticeIn(entry);
  return notice !== undefined && !state.tasks.has(notice.taskId) &&
    !isStopRequested(state, entry);
}

/**
 * Emits ends of tasks that waited for the beginnings of their tasks.
 *
 * @param isDue which tasks' ends are emitted. Without it all are, because some beginnings never come
 */
export function emitTaskEnds(
  step: OutputStep,
  isDue: (taskId: string) => boolean = () => true,
): void {
  const { taskEndLines } = step.state;
  const due = taskEndLines.filter((entry) => isDue(noticeIn(entry)?.taskId ?? ""));
  if (due.length === 0) return;
  step.update({ taskEndLines: taskEndLines.filter((entry) => !due.includes(entry)) });
  for (const entry of due) emitOwnLine(step, entry);
}

/**
 * Emits a line of the session's own transcript. If the line is a prompt, the result of the previous turn comes first.
 */
function emitLine(step: OutputStep, entry: Entry): void {
  if (recordLatePrompt(step, entry)) {
    emitPlainLine(step, entry);
    return;
  }
  const [first, ...pendingEnds] = step.state.pendingEnds;
  // A turn that waits for a subagent has further lines of its own: `emitWaitingTurns()` emits its result.
  const end = first?.lines === undefined && !isBeforeEnd(entry, first) ? first : undefined;
  const prompt = promptIn(step.state, { entry, end });
  if (end !== undefined && endsTurnBefore(step.state, { entry, end, prompt })) {
    step.update({ pendingEnds });
    emitTurnResult(step, end);
    emitLine(step, entry);
    return;
  }
  if (followsJoinedTurn(step.state, entry)) {
    emitEarlyResults(step);
    emitLine(step, entry);
    return;
  }
  beginTurnWith(step, { entry, prompt });
  if (readTaskNotification(entry) !== undefined) emitTaskEnds(step);
  emitPlainLine(step, entry);
  if (isEnd(entry) && end !== undefined) {
    step.update({ pendingEnds });
    emitTurnResult(step, end);
  }
}

/** Whether a line was written before the end of a turn. Then it belongs to that turn or to an earlier one. */
function isBeforeEnd(entry: Entry, { endedBy }: Partial<TurnEnd> = {}): boolean {
  const { timestamp = "" } = entry.type === "other" ? {} : entry;
  return endedBy !== undefined && Date.parse(timestamp) < endedBy;
}

/** Whether a line was written after the end of a turn, if hooks reported the times. */
function isAfterEnd(
  { timestamp = "" }: UserEntry,
  { endedBy }: Pick<OutputState, "endedBy">,
): boolean {
  return endedBy !== undefined && Date.parse(timestamp) >= endedBy;
}

/** The prompts that a line shows. */
interface ShownPrompt {
  /** A prompt that the child had scheduled for itself. */
  readonly scheduled: UserEntry | undefined;
  /** The text of a prompt that the child had not scheduled, or of a message that joined the turn. */
  readonly text: string | undefined;
  /** The index of its message in the awaited messages; -1 if there is none. */
  readonly place: number;
}

function promptIn(
  { awaited, taken }: OutputState,
  { entry, end }: { readonly entry: Entry; readonly end: TurnEnd | undefined },
): ShownPrompt {
  const scheduled = isPrompt(entry) && isScheduledPrompt(entry) ? entry : undefined;
  const text = scheduled === undefined ? textOfPrompt(entry) : undefined;
  // The messages taken so far are those of the turn that has ended.
  const state = { awaited, taken: end === undefined ? taken : [] };
  return { scheduled, text, place: text === undefined ? -1 : placeOf(state, text) };
}

/** Whether a line is the prompt of a later turn than the one that has ended. */
function endsTurnBefore(
  state: OutputState,
  { entry, end, prompt: { scheduled, place } }: {
    readonly entry: Entry;
    readonly end: TurnEnd;
    readonly prompt: ShownPrompt;
  },
): boolean {
  if (!isPrompt(entry)) return false;
  if (isAfterEnd(entry, end)) return true;
  const isNews = place >= 0 || scheduled !== undefined || readTaskNotification(entry) !== undefined;
  // If a result was emitted and no prompt followed, the end may belong to the turn which this prompt begins.
  return (isNews && state.hasLinesSincePrompt && !state.isBetweenTurns) ||
    isOfLaterTurn(state, { end, place });
}

/** Begins the turn of a line, if the line begins a turn. */
function beginTurnWith(
  step: OutputStep,
  { entry, prompt: { scheduled, text, place } }: {
    readonly entry: Entry;
    readonly prompt: ShownPrompt;
  },
): void {
  if (scheduled !== undefined) beginScheduled(step, scheduled);
  else if (text !== undefined) beginAsked(step, { entry, place, text });
  else if (entry.type === "system" && readBlockedPrompt(entry) !== undefined) startTurn(step);
}

/**
 * Whether the message of a prompt belongs to no turn that has ended. Prompts of ended turns may still be unread. Claude
 * Code writes prompts in order. It writes nothing of a turn that is stopped while the hooks of its prompt run.
 *
 * @param options.place the message's index in the awaited messages
 */
function isOfLaterTurn(
  { awaited }: OutputState,
  { end: { unwritten = [] }, place }: { readonly end: TurnEnd; readonly place: number },
): boolean {
  const message = awaited[place];
  return message !== undefined && unwritten.length > 0 && !unwritten.some(isSame(message));
}

/**
 * Records that the transcript holds a turn whose result was emitted before its prompt was read.
 *
 * @returns whether the line is such a prompt
 */
function recordLatePrompt(step: OutputStep, entry: Entry): boolean {
  const { lateTurns, turnPrompts, results, otherResults } = step.state;
  if (lateTurns.length === 0 || !isPrompt(entry)) return false;
  const [text, id] = [textOfPrompt(entry), lineId(entry)];
  const isOf = (message: Message) => isTextOf(message, text);
  const turn = lateTurns.find(({ messages, at }) =>
    messages.some(isOf) && !(Date.parse(entry.timestamp ?? "") > at)
  );
  if (turn === undefined || id === undefined) return false;
  const messages = turn.messages.toSpliced(turn.messages.findIndex(isOf), 1);
  // Earlier turns have no more lines.
  const [, ...later] = lateTurns.slice(lateTurns.indexOf(turn));
  step.update({
    lateTurns: messages.length === 0 ? later : [{ ...turn, messages, counted: true }, ...later],
  });
  if (!turn.counted) {
    step.update({
      turnPrompts: new Set([...turnPrompts, id]),
      results: results + 1,
      otherResults: otherResults - 1,
    });
  }
  return true;
}

/**
 * Whether a line shows the end of a task right after the end of another task. The turn of the other task has an empty
 * result of its own.
 */
function followsJoinedTurn(state: OutputState, entry: Entry): boolean {
  if (readTaskNotification(entry) === undefined || state.hasLinesSincePrompt) return false;
  const { recent, printed } = runTurns(state);
  const last = recent.at(-1);
  // A deferred result stays deferred.
  return last !== undefined && printed === recent.length - 1 && isJoinedEnd(last);
}

/** Begins the turn of a prompt, and emits that the child has taken its message. */
function beginAsked(
  step: OutputStep,
  { entry, place, text }: {
    readonly entry: Entry;
    readonly place: number;
    readonly text: string;
  },
): void {
  const { uuid, timestamp } = entry.type === "other" ? {} : entry;
  const { isBetweenTurns, version, turnPrompts, awaited } = step.state;
  const isNext = isBetweenTurns && place >= 0 && isPrompt(entry) && version !== undefined;
  if (isNext) {
    const id = lineId(entry);
    if (id !== undefined) {
      step.update({ lateTurns: [], turnPrompts: new Set([...turnPrompts, id]) });
    }
    startTurn(step);
  }
  const frames = step.capture(() => takeMessage(step, place, { uuid, timestamp, text }));
  const { lifecycle, others } = splitLifecycle(frames);
  // The frames of a command (a compaction, a skill's subagent) may precede its turn, so they are emitted before
  // `system/init`.
  const message = awaited[place];
  const isCommand = message?.way !== undefined && message.command !== undefined;
  if (isNext && isDescribed(step.state) && !isCommand) {
    step.emit(...lifecycle);
    emitInit(step);
    step.emit(...others);
  } else if (step.state.hasInit) step.emit(...frames);
  else {
    // No other frame comes before `system/init`.
    step.emit(...lifecycle);
    step.update({ framesAfterInit: [...step.state.framesAfterInit, ...others] });
  }
}

/** Begins the turn of a prompt that the child had scheduled for itself. */
function beginScheduled(step: OutputStep, prompt: UserEntry): void {
  if (prompt.uuid !== undefined) {
    step.update({ turnPrompts: new Set([...step.state.turnPrompts, prompt.uuid]) });
  }
  takeScheduledPrompt(step, prompt);
  step.update({ hasInit: false, isBetweenTurns: false });
  emitInit(step);
}

/**
 * Whether the facts of `system/init` are known: the child has had a turn, it resumes a session with one, or the
 * headless helper reported them.
 */
function isDescribed({ prompt, earlier, described }: OutputState): boolean {
  return prompt !== undefined || earlier.length > 0 || described !== undefined;
}

/** Returns the text of a prompt, or of a message that joined the current turn. */
function textOfPrompt(entry: Entry): string | undefined {
  if (isPrompt(entry)) {
    const { content } = entry.message;
    return typeof content === "string"
      ? content
      : content.map(({ text }) => typeof text === "string" ? text : "").join("");
  }
  if (entry.type !== "attachment" || entry.attachment.type !== "queued_command") return undefined;
  const { prompt } = entry.attachment;
  return typeof prompt === "string" ? prompt : undefined;
}

/** Emits a line of the session's own transcript in order, relative to the lines of a compaction. */
function emitOwnLine(step: OutputStep, entry: Entry): void {
  const { prompt, hasLinesSincePrompt, version, preserved, deferredLines } = step.state;
  // On a busy machine these lines may be written after the prompt for which they make room.
  if ((prompt === undefined || !hasLinesSincePrompt) && isResumptionFiller(entry)) return;
  if (isPrompt(entry) && isAfterEnd(entry, step.state)) step.update({ isClosed: true });
  if (step.state.isClosed || isBeyondBudget(step.state, entry)) return;
  if (version === undefined && entry.type !== "other" && entry.version !== undefined) {
    step.update({ version: entry.version });
  }
  const id = lineId(entry);
  const isEmitted = id === undefined ? undefined : preserved.get(id);
  if (isEmitted === true) return;
  if (id !== undefined && isEmitted !== undefined) {
    step.update({ preserved: new Map([...preserved, [id, true]]) });
  }
  if (waitsForOutcome(step.state, entry)) {
    step.update({ deferredLines: chained(deferredLines, entry) });
    return;
  }
  if (isEnd(entry)) emitWithoutOutcome(step);
  else emitCompactionOutcome(step, entry);
  emitLine(step, entry);
  if (isCompactionBoundary(entry)) recordBoundary(step, entry);
  else if (isSummary(entry)) emitLinesAfterCompaction(step);
}

/**
 * Whether a line is the result of a call beyond the budget. `claude -p` does not even refuse such a call. Results of
 * calls within the budget are written up to 0.1 s later, after the status line has reported the cost of the next
 * answer.
 */
function isBeyondBudget({ overspentAt }: OutputState, entry: Entry): boolean {
  return overspentAt !== undefined && entry.type === "user" && entry.meaning === "tool-result" &&
    !(Date.parse(entry.timestamp ?? "") < overspentAt);
}

/** Stops waiting for the outcomes of compactions, and emits the lines that were deferred for them. */
export function emitWithoutOutcome(step: OutputStep): void {
  const { compactions } = step.state;
  step.update({
    compactions: compactions.filter(({ hasSucceeded }) => !hasSucceeded).map((each) => ({
      ...each,
      isOverdue: true,
    })),
  });
  emitLinesAfterCompaction(step);
}

/** Emits the lines that waited for the outcome of a compaction. */
export function emitLinesAfterCompaction(step: OutputStep): void {
  const lines = listOf(step.state.deferredLines);
  step.update({ deferredLines: undefined, awaitsSummary: false });
  for (const entry of lines) emitOwnLine(step, entry);
}

/** Records which lines Claude Code writes again after a compaction, and that a summary follows. */
function recordBoundary(step: OutputStep, entry: SystemEntry): void {
  const { entries, gone } = step.state.kept;
  const preserved = preservedLines(entry);
  const written = preserved.length === 0 ? [] : listOf(entries);
  const ids = new Set(written.map(lineId));
  step.update({
    awaitsSummary: true,
    preserved: new Map(preserved.map((id) => [id, ids.has(id) || gone.has(id)])),
  });
}
