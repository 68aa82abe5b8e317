import type { ControlStep } from "./control_step.ts";
import { deadline } from "./effect.ts";
import { type Entry, isPrompt } from "../../claude/transcript/entry.ts";
import { asText, isJsonObject, type JsonObject } from "../../json_object.ts";
import {
  isNotification,
  parseTaskNotification,
  readQueuedNotification,
} from "../../claude/transcript/task_notification.ts";
import { AGENT_TOOLS } from "../protocol/questions/allowed_calls.ts";
import type { HookPayload, SubagentLine } from "./input.ts";
import { isTextOf } from "./message.ts";
import { type ChildQueue, EMPTY_QUEUE, type SessionState } from "./session_state.ts";
import type { TranscriptSign } from "./transcript_sign.ts";
import { currentPrompt } from "./taken_prompts.ts";
import { isGoalCommand, readGoalOpen } from "../../claude/transcript/special_entries.ts";

/**
 * Returns the child's queue after a line of the transcript. Claude Code writes operations on the queue immediately,
 * other lines up to 0.1 s later (2.1.330).
 */
export function queueAfter(state: SessionState, entry: Entry): ChildQueue {
  const { childQueue: queue } = state;
  switch (entry.type) {
    case "other":
      return entry.line.type === "queue-operation" ? afterOperation(state, entry.line) : queue;
    case "user": {
      const task = taskStartedIn(entry.toolUseResult);
      if (isPrompt(entry)) return { ...queue, noticeTakenAt: undefined };
      return task === undefined
        ? queue
        : { ...queue, runningTasks: queue.runningTasks.union(new Set([task])) };
    }
    default:
      return queue;
  }
}

function afterOperation(state: SessionState, line: JsonObject): ChildQueue {
  const { childQueue: queue } = state;
  const { operation, content, timestamp } = line;
  if (operation === "enqueue") {
    const taskId = readQueuedNotification(line)?.taskId;
    const ended = new Set(taskId === undefined ? [] : [taskId]);
    return {
      ...queue,
      length: queue.length + 1,
      hasNotice: queue.hasNotice || isNotification(content) || isWakeup(state, content),
      runningTasks: queue.runningTasks.difference(ended),
      endedTasks: queue.endedTasks.union(ended),
      wokenAgents: queue.wokenAgents.difference(ended),
    };
  }
  const length = Math.max(0, queue.length - 1);
  const woken = wokenBy(queue, line);
  // A subagent that ends also takes its own notices out of the queue, before its call has a result. Once the turn's end
  // is announced, no call waits for a subagent any more. The result of another call may be written after the child has
  // continued, because only operations on the queue are written immediately.
  const isTurnsOwn = state.phase === "settling" || !isAgentAtWork(state);
  return {
    ...queue,
    length,
    hasNotice: queue.hasNotice && length > 0,
    wokenAgents: woken === undefined
      ? queue.wokenAgents
      : queue.wokenAgents.union(new Set([woken])),
    noticeTakenAt: queue.hasNotice && operation === "dequeue" && isTurnsOwn
      ? Date.parse(asText(timestamp))
      : queue.noticeTakenAt,
  };
}

/** Whether a text that the child puts into its queue belongs to a wake-up whose time has come during a turn. */
function isWakeup({ wakeup, sent, taken }: SessionState, text: unknown): boolean {
  return wakeup !== undefined && typeof text === "string" &&
    ![...sent, ...taken].some((prompt) => isTextOf(prompt, text));
}

/** Whether a call of a subagent has no result yet. */
function isAgentAtWork({ tools }: SessionState): boolean {
  return [...tools.values()].some((tool) => AGENT_TOOLS.includes(tool));
}

/**
 * Returns the subagent that had ended and that a notice from the queue wakes: its shell has ended. Since 2.1.330, the
 * line names the subagent; earlier versions show only the shell.
 */
function wokenBy(
  { endedTasks, shellOwners }: ChildQueue,
  { operation, content, reason = TO_AGENT }: JsonObject,
): string | undefined {
  if (operation !== "remove" || reason !== TO_AGENT) return undefined;
  const owner = shellOwners.get(parseTaskNotification(content)?.taskId ?? "");
  return owner !== undefined && endedTasks.has(owner) ? owner : undefined;
}

const TO_AGENT = "delivered_to_agent";

/** Records the shell that a subagent's line moves to the background, if any. */
export function recordShell(
  step: ControlStep,
  { entry, subagent: { agentId } }: SubagentLine,
): void {
  const shell = entry.type === "user" ? taskStartedIn(entry.toolUseResult) : undefined;
  if (shell === undefined) return;
  const { childQueue: queue } = step.state;
  const shells = new Map([...queue.shellOwners, [shell, agentId]]);
  step.update({ childQueue: { ...queue, shellOwners: shells } });
}

/** The background task that a call has started, or started again. */
function taskStartedIn(outcome: unknown): string | undefined {
  if (!isJsonObject(outcome)) return undefined;
  const { backgroundTaskId, isAsync, agentId, resumedAgentId } = outcome;
  const task = isAsync === true ? agentId : backgroundTaskId ?? resumedAgentId;
  return typeof task === "string" ? task : undefined;
}

/** Whether the child continues with the end of a task after a turn, without a message. */
export function isFollowed(state: SessionState): boolean {
  const { length, hasNotice } = state.childQueue;
  return isNextTaken(state) || (hasNotice && length > 0);
}

/** Whether the child has taken a task's end out of its queue after the turn, and the line of that prompt is unread. */
export function isNextTaken(
  { phase, isOnlyBackground, announcedAt, options, childQueue: { noticeTakenAt } }: SessionState,
): boolean {
  const isUnderWay = phase === "working" && !isOnlyBackground && options.hookless !== true;
  if (noticeTakenAt === undefined || isUnderWay) return false;
  return announcedAt === undefined || !(noticeTakenAt < announcedAt);
}

/** Stops waiting for the notices in the queue. */
export function forgetNotices(step: ControlStep): void {
  const { runningTasks, endedTasks, shellOwners, wokenAgents } = step.state.childQueue;
  step.update({
    childQueue: { ...EMPTY_QUEUE, runningTasks, endedTasks, shellOwners, wokenAgents },
  });
}

/** How long `claude -p` waits for a wake-up, in milliseconds, after its time or after the end of a later turn. */
const GRACE_MS = 120_000;

/** Records when the child wakes the model, if a line of the transcript shows it. */
export function recordWakeup(step: ControlStep, { wakeup }: TranscriptSign): void {
  if (wakeup === undefined || Number.isNaN(wakeup)) return;
  step.update({
    wakeup: wakeup === "never" ? undefined : { at: step.state.lifeAt + wakeup },
  });
}

/**
 * Whether the Stop hook has named a one-time scheduled prompt. Only the transcript shows which scheduled prompts wake
 * the model.
 */
export function mayBeWoken({ stop, options }: SessionState): boolean {
  return options.wakeless !== true && (oneTimers(stop)?.length ?? 0) > 0;
}

/** Whether the model will be woken after the turn. A failed turn has no hook that could name its wake-ups. */
export function isToBeWoken({ wakeup, stop, options }: SessionState): boolean {
  return wakeup !== undefined && options.wakeless !== true && oneTimers(stop)?.length !== 0;
}

function oneTimers(stop: HookPayload | undefined): readonly unknown[] | undefined {
  const crons = stop?.["session_crons"];
  return Array.isArray(crons)
    ? crons.filter((cron) => isJsonObject(cron) && cron["recurring"] === false)
    : undefined;
}

/** Limits the wait of a session that has nothing left to do but to wait for a wake-up. */
export function boundWakeup(step: ControlStep): void {
  const { wakeup, lifeAt } = step.state;
  if (!wakeup?.awaited) return;
  step.emit(deadline("background", Math.max(0, wakeup.at - lifeAt) + GRACE_MS));
}

/**
 * Whether another Stop hook than ours may continue the turn, or a goal, which one of Claude Code's own hooks pursues.
 * Then a Stop hook is the end only once the child is idle.
 */
export function hasOtherStopHooks(state: SessionState): boolean {
  return state.options.otherStopHooks || state.pursuesGoal ||
    isGoalCommand(currentPrompt(state)?.text ?? "");
}

/** Records whether the session pursues a goal after some lines. */
export function recordGoal(step: ControlStep, entries: readonly Entry[]): void {
  const pursues = entries.map(readGoalOpen).findLast((each) => each !== undefined);
  if (pursues !== undefined && pursues !== step.state.pursuesGoal) {
    step.update({ pursuesGoal: pursues });
  }
}
