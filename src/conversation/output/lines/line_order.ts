import { isUnderWay, type OutputState } from "../output_state.ts";
import { hasCapability } from "../../../claude/versions/profiles.ts";
import { listOf } from "../../../chain.ts";
import type { Subagent, SubagentLine } from "../../control/input.ts";
import { type Entry, isPrompt } from "../../../claude/transcript/entry.ts";
import { asText } from "../../../json_object.ts";
import { sortParentsFirst } from "../../../claude/transcript/entry_order.ts";
import { isMainRequest } from "../../../claude/transcript/session_listing.ts";
import {
  readQueuedNotification,
  type TaskNotification,
} from "../../../claude/transcript/task_notification.ts";

/** A line of the session's own transcript, or of a subagent's. */
export interface WrittenLine {
  readonly entry: Entry;
  readonly subagent?: Subagent;
}

/**
 * Puts lines of several transcripts into the order of their times. Lines of one transcript keep their order, except ends
 * of tasks, which are written too early. A line without a time stays after the one before it.
 */
export function inOrder(
  own: readonly Entry[],
  subagents: readonly SubagentLine[],
): readonly WrittenLine[] {
  const isNotice = (entry: Entry) => noticeIn(entry) !== undefined;
  const lines = own.filter((entry) => !isNotice(entry)).map((entry) => ({ entry }));
  if (subagents.length === 0 && lines.length === own.length) return lines;
  const notices = own.filter(isNotice).map((entry) => ({ entry }));
  const bySubagent = Map.groupBy(subagents, ({ subagent: { agentId } }) => agentId);
  const spoken = [...bySubagent.values()].flatMap(timed);
  return [...timed(lines), ...spoken, ...timed(notices)]
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

/**
 * The places of lines after which an answer goes on that has begun: the result of a call and the words of a subagent may be
 * written while the model still writes the next call, and Claude Code writes all lines of an answer at its end.
 *
 * @param open the answer that earlier lines began, if it is not over
 */
export function placesAmidAnswers(
  lines: readonly WrittenLine[],
  open: string | undefined,
): ReadonlySet<number> {
  const answerOf = ({ entry, subagent }: WrittenLine) =>
    entry.type === "assistant" && subagent === undefined ? entry.message.id : undefined;
  const last = new Map(lines.map((line, place) => [answerOf(line), place]));
  const amid = new Set<number>();
  let current = open;
  for (const [place, line] of lines.entries()) {
    current = answerOf(line) ?? current;
    if (current !== undefined && (last.get(current) ?? -1) > place) amid.add(place);
  }
  return amid;
}

/** Returns whether a line of a subagent was written later than another line. */
export function isLater(
  subagents: readonly SubagentLine[],
  than: Entry,
): (line: SubagentLine) => boolean {
  const [{ time } = { time: 0 }] = timed([{ entry: than }]);
  const bySubagent = Map.groupBy(subagents, ({ subagent: { agentId } }) => agentId);
  const later = new Set(
    [...bySubagent.values()].flatMap(timed).filter((each) => each.time > time)
      .map(({ line }) => line),
  );
  return (line) => later.has(line);
}

/** Returns the end of a task in a line that the child writes as soon as the task ends; undefined for another line. */
export function noticeIn(entry: Entry): TaskNotification | undefined {
  return entry.type === "other" ? readQueuedNotification(entry.line) : undefined;
}

/** Whether a line shows the end of a task that the caller has stopped, which was emitted then. */
export function isToldToBeStopped({ tasks, allTasks }: OutputState, entry: Entry): boolean {
  const { taskId = "", status } = noticeIn(entry) ?? {};
  return status === "killed" && allTasks.has(taskId) && !tasks.has(taskId);
}

/**
 * Moves the lines with which a run begins before the first answer: if the answer comes at once, they may be written later.
 * The lines about the request come last.
 */
export function beginningFirst(state: OutputState, entries: readonly Entry[]): readonly Entry[] {
  if (isUnderWay(state)) return entries;
  const ordered = sortParentsFirst(entries);
  const answer = ordered.findIndex(({ type }) => type === "assistant");
  if (answer < 0) return ordered;
  const [before, later] = [ordered.slice(0, answer), ordered.slice(answer)];
  return [
    ...before,
    ...later.filter(isOfRequest),
    ...later.filter((entry) => !isOfRequest(entry)),
  ];
}

function isOfRequest(entry: Entry): boolean {
  return entry.type === "other" && asText(entry.line.type).startsWith("api-request");
}

/** With more lines than this, the first answer waits no longer: pending lines take up memory. */
const MOST_EARLY = 200;

/**
 * Returns the version of a Claude Code that has written a first answer before the lines with which its run begins, which
 * follow within 0.1 s; undefined otherwise. If the transcript holds requests, the lines about the first one are the last of
 * them.
 */
export function earlyAnswer(state: OutputState): string | undefined {
  const { ownLines, prompt, version } = state;
  if (isUnderWay(state) || (ownLines?.length ?? 0) > MOST_EARLY) return undefined;
  const lines = listOf(ownLines);
  const answer = lines.find((line) =>
    line.type === "assistant" &&
    (line.message.model !== "<synthetic>" || line.isApiErrorMessage === true)
  );
  if (answer === undefined || answer.type === "other") return undefined;
  const writer = version ?? answer.version ?? "";
  const isBegun = hasCapability(writer, "writesRequests")
    ? lines.some((entry) => entry.type === "other" && isMainRequest(entry.line))
    : prompt !== undefined || lines.some(isPrompt);
  return isBegun ? undefined : writer;
}
