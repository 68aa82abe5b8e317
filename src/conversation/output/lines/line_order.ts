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
 * Sorts lines of several transcripts by time. Lines of one transcript keep their order, except ends of tasks, which
 * Claude Code writes too early. A line without a time stays after its predecessor.
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
 * The places of lines after which an open answer continues. While the model still writes the next call, the result of a
 * call and the text of a subagent may be written; Claude Code writes all lines of an answer at its end.
 *
 * @param open the answer that earlier lines began, if it is still open
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

/** Returns the end of a task in a line that the child writes as soon as the task ends; undefined for any other line. */
export function noticeIn(entry: Entry): TaskNotification | undefined {
  return entry.type === "other" ? readQueuedNotification(entry.line) : undefined;
}

/**
 * Whether a line shows the end of a task that the caller has stopped. Such an end was emitted when the caller stopped
 * the task.
 */
export function isStopRequested({ tasks, allTasks }: OutputState, entry: Entry): boolean {
  const { taskId = "", status } = noticeIn(entry) ?? {};
  return status === "killed" && allTasks.has(taskId) && !tasks.has(taskId);
}

/**
 * Moves the first lines of a run before the first answer. If the answer comes immediately, Claude Code may write them
 * after it. The lines about the request come last.
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

/** The maximum number of lines that wait for the first lines of a run, because pending lines take up memory. */
const MOST_EARLY = 200;

/**
 * Returns the version of a Claude Code that has written a first answer before the first lines of its run. They follow
 * within 0.1 s. Undefined otherwise. If the transcript holds requests, the lines about the first request are the last
 * of these lines.
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
