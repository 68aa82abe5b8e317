import { preservedLines } from "../frames/frames_of_entry.ts";
import { isAheadOfOutcome, isEnd, isSummary, tellOutcome } from "./compaction.ts";
import { endWritten, openAnswer } from "../live/live_answers.ts";
import { behindSubagents, besideEachOther, hooksFirst, stopsAtEnd } from "./hook_ends.ts";
import {
  beginningFirst,
  inOrder,
  isToldToBeStopped,
  noticeIn,
  placesAmidAnswers,
} from "./line_order.ts";
import { isSame, parted, placeOf, tellMessage, tellTimed } from "../messages.ts";
import { runTurns } from "../turns/run_turns.ts";
import { tellEarly } from "../turns/early_results.ts";
import { begin, beginTurn } from "../telling/beginning.ts";
import {
  and,
  type FramesState,
  holdsLines,
  type Told,
  told,
  type TurnEnd,
} from "../telling/frames_state.ts";
import { chained, listOf } from "../../../chain.ts";
import { tellSubagentLine } from "../subagents/subagent_lines.ts";
import { tellResult } from "../turns/tell_result.ts";
import { isTextOf, type Message } from "../../control/message.ts";
import {
  blockedPrompt,
  type Entry,
  isBoundary,
  isPrompt,
  isResumption,
  isTimed,
  type SystemEntry,
  type UserEntry,
} from "../../../claude/transcript/entry.ts";
import { lineId } from "../../../claude/transcript/entry_order.ts";
import { isJoinedEnd } from "../../../claude/transcript/turn.ts";
import type { Frame } from "../../../claude/wire/frame.ts";
import { notificationIn } from "../../../claude/transcript/task_notification.ts";
import { tellPlainLine } from "./plain_line.ts";

/** Tells all lines since the last time, in the order in which they were written. */
export function tellLines(before: FramesState): Told {
  if (!holdsLines(before) && before.stopEnds.length === 0) return told(before);
  const frames: Frame[] = [];
  const own = hooksFirst(
    before,
    beginningFirst(before, [...before.stopEnds, ...listOf(before.own)]),
  );
  const lines = inOrder(own, listOf(before.subagents));
  let state: FramesState = {
    ...before,
    stopEnds: [],
    own: undefined,
    subagents: undefined,
    awaitsSubagent: false,
    unbegun: undefined,
  };
  const amid = placesAmidAnswers(lines, openAnswer(before));
  for (const [place, { entry, subagent }] of lines.entries()) {
    const next = behindResult(
      { ...state, amid: amid.has(place) },
      (state) =>
        subagent === undefined
          ? isEarly(state, entry) ? told(withNotice(state, entry)) : tellOwnLine(state, entry)
          : tellSubagentLine(state, { entry, subagent }),
    );
    state = next.state;
    frames.push(...next.frames);
  }
  const { tasks } = state;
  return and(
    and(
      told(state, behindSubagents(besideEachOther(frames))),
      (state) => behindResult(state, (state) => tellNotices(state, (id) => tasks.has(id))),
    ),
    endWritten,
  );
}

/** Tells something behind a result that waits for its price, where there is anything to tell: it waits no longer then. */
function behindResult(state: FramesState, tell: (state: FramesState) => Told): Told {
  const next = tell(state);
  return state.unpriced === undefined || next.state.unpriced === undefined ||
      next.frames.length === 0
    ? next
    : and(tellEarly(state), tell);
}

/** The same, but for the ends of Stop hooks beside which others may still run: they are told together. */
export function tellRead(before: FramesState): Told {
  if (before.options.hookEvents !== true) return tellLines(before);
  const lines = [...before.stopEnds, ...listOf(before.own)];
  const stops = stopsAtEnd(lines);
  if (stops.length === 0) return tellLines(before);
  let own: FramesState["own"];
  for (const entry of lines.slice(0, -stops.length)) own = chained(own, entry);
  return and(
    tellLines({ ...before, stopEnds: [], own }),
    (state) => told({ ...state, stopEnds: stops }),
  );
}

/**
 * Whether a line tells the end of a task whose beginning has not been told: Claude Code writes it at once, and the lines
 * of the answer that began the task 0.1 s later.
 */
function isEarly(state: FramesState, entry: Entry): boolean {
  const notice = noticeIn(entry);
  return notice !== undefined && !state.tasks.has(notice.taskId) &&
    !isToldToBeStopped(state, entry);
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

const tellAllNotices = (state: FramesState): Told => tellNotices(state);

/** Tells a line of the session's own transcript, and before a prompt what became of the turn that it follows. */
function tellLine(before: FramesState, entry: Entry): Told {
  const late = asLate(before, entry);
  if (late !== undefined) return tellPlainLine(late, entry);
  const [first, ...ended] = before.ended;
  // One that waits for a subagent has lines of its own to follow (`tellHeld()`).
  const end = first?.lines === undefined ? first : undefined;
  const timed = timedPrompt(entry);
  const asked = timed === undefined ? askedIn(entry) : undefined;
  // What has been taken is that of the turn which has ended.
  const waiting = end === undefined ? before : { ...before, taken: [] };
  const place = asked === undefined ? -1 : placeOf(waiting, asked);
  const isNews = place >= 0 || timed !== undefined || notificationIn(entry) !== undefined;
  // Where a result has been told and nothing was asked since, the end may be that of the turn which this prompt begins.
  const isNext = isNews && before.spoken && !before.rested;
  if (
    end !== undefined && isPrompt(entry) && (isNext || isOfLaterTurn(before, { end, place }))
  ) {
    return and(tellResult({ ...before, ended }, end), (state) => tellLine(state, entry));
  }
  if (isJoining(before, entry)) {
    return and(tellEarly(before), (state) => tellLine(state, entry));
  }
  const isBlocked = entry.type === "system" && blockedPrompt(entry) !== undefined;
  const ahead = timed !== undefined
    ? beginTimed(before, timed)
    : asked !== undefined
    ? tellAsked(before, { entry, place, text: asked })
    : isBlocked
    ? beginTurn(before)
    : told(before);
  const noticed = notificationIn(entry) === undefined ? ahead : and(ahead, tellAllNotices);
  const next = and(noticed, (state) => tellPlainLine(state, entry));
  const isOver = entry.type === "system" && entry.subtype === "turn_duration" && end !== undefined;
  return isOver ? and(next, (state) => tellResult({ ...state, ended }, end)) : next;
}

/**
 * Whether the message of a prompt at a place is none of a turn that has ended, whose own prompts have not all been read.
 * Claude Code writes prompts in their order, and nothing of a turn that is stopped while the hooks of its prompt run.
 */
function isOfLaterTurn(
  { awaited }: FramesState,
  { end: { unwritten = [] }, place }: { readonly end: TurnEnd; readonly place: number },
): boolean {
  const message = awaited[place];
  return message !== undefined && unwritten.length > 0 && !unwritten.some(isSame(message));
}

/**
 * The state where a line is a prompt of a turn whose result has been told already: that is now one of a turn that the
 * transcript holds; undefined where it is none.
 */
function asLate(state: FramesState, entry: Entry): FramesState | undefined {
  if (state.toldAhead.length === 0 || !isPrompt(entry)) return undefined;
  const [text, id] = [askedIn(entry), lineId(entry)];
  const isOf = (message: Message) => isTextOf(message, text);
  const turn = state.toldAhead.find(({ messages, at }) =>
    messages.some(isOf) && !(Date.parse(entry.timestamp ?? "") > at)
  );
  if (turn === undefined || id === undefined) return undefined;
  const messages = turn.messages.toSpliced(turn.messages.findIndex(isOf), 1);
  // Those before it leave no lines any more.
  const [, ...later] = state.toldAhead.slice(state.toldAhead.indexOf(turn));
  const rest: FramesState = {
    ...state,
    toldAhead: messages.length === 0 ? later : [{ ...turn, messages, counted: true }, ...later],
  };
  return turn.counted ? rest : {
    ...rest,
    begins: new Set([...rest.begins, id]),
    results: rest.results + 1,
    locals: rest.locals - 1,
  };
}

/** Whether a line tells of the end of a task right behind another one, whose turn has an empty result of its own. */
function isJoining(state: FramesState, entry: Entry): boolean {
  if (notificationIn(entry) === undefined || state.spoken) return false;
  const { recent, printed } = runTurns(state);
  const last = recent.at(-1);
  // One that is held back stays so.
  return last !== undefined && printed === recent.length - 1 && isJoinedEnd(last);
}

/** Begins the turn of a prompt that follows another one, and tells that the child has taken it. */
function tellAsked(
  state: FramesState,
  { entry, place, text }: {
    readonly entry: Entry;
    readonly place: number;
    readonly text: string;
  },
): Told {
  const { uuid: lineUuid, timestamp } = entry.type === "other" ? {} : entry;
  const line = { uuid: lineUuid, timestamp, text };
  const isNext = state.rested && place >= 0 && isPrompt(entry) && state.version !== undefined;
  const uuid = lineId(entry);
  const next: FramesState = isNext && uuid !== undefined
    ? { ...state, toldAhead: [], begins: new Set([...state.begins, uuid]) }
    : state;
  const message = and(
    isNext ? beginTurn(next) : told(next),
    (state) => tellMessage(state, place, line),
  );
  // Of a command may be told what comes ahead of the turn: a compaction, or what a skill's subagent has done.
  const awaited = state.awaited[place];
  const isCommand = awaited?.way !== undefined && awaited.command !== undefined;
  if (isNext && isDescribed(state) && !isCommand) {
    const { lifecycle, others } = parted(message.frames);
    return and(and(told(message.state, lifecycle), begin), (state) => told(state, others));
  }
  if (message.state.begun) return message;
  // Nothing else is told before `system/init`.
  const { lifecycle, others } = parted(message.frames);
  return told({ ...message.state, early: [...message.state.early, ...others] }, lifecycle);
}

/** Begins the turn of a prompt that has waited for its time. */
function beginTimed(state: FramesState, prompt: UserEntry): Told {
  const begins = prompt.uuid === undefined ? state.begins : new Set([...state.begins, prompt.uuid]);
  return and(
    tellTimed({ ...state, begins }, prompt),
    (state) => begin({ ...state, begun: false, rested: false }),
  );
}

/** A prompt of the session itself that has waited for its time, if a line is one. */
function timedPrompt(entry: Entry): UserEntry | undefined {
  return isPrompt(entry) && isTimed(entry) ? entry : undefined;
}

/** Whether it is known what the session is like: the child has had a turn, it resumes one, or another one has said so. */
function isDescribed({ prompt, earlier, described }: FramesState): boolean {
  return prompt !== undefined || earlier.length > 0 || described !== undefined;
}

/** The text of a prompt, or of a message that became a part of the turn under way. */
function askedIn(entry: Entry): string | undefined {
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

/** Tells a line of the session's own transcript in its place among those of a compaction. */
function tellOwnLine(state: FramesState, entry: Entry): Told {
  // On a busy machine they may be written after the prompt that they make room for.
  if ((state.prompt === undefined || !state.spoken) && isResumption(entry)) return told(state);
  if (state.closed) return told(state);
  if (isBeyondBudget(state, entry)) return told(state);
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

/**
 * Whether a line is the result of a call beyond the budget, which `claude -p` does not even refuse. Results from before
 * that are written up to 0.1 s later, behind what the next answer has cost.
 */
function isBeyondBudget({ overspentAt }: FramesState, entry: Entry): boolean {
  return overspentAt !== undefined && entry.type === "user" && entry.meaning === "tool-result" &&
    !(Date.parse(entry.timestamp ?? "") < overspentAt);
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
  const { entries, gone } = state.kept;
  const preserved = preservedLines(entry);
  const written = preserved.length === 0 ? [] : listOf(entries);
  const ids = new Set(written.map(lineId));
  return {
    ...state,
    unsummed: true,
    preserved: new Map(preserved.map((id) => [id, ids.has(id) || gone.has(id)])),
  };
}
