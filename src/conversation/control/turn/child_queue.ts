import { type Entry, isPrompt } from "../../../claude/transcript/entry.ts";
import { asText, isJsonObject, type JsonObject } from "../../../json_object.ts";
import {
  enqueuedNotification,
  isNotification,
  parseTaskNotification,
} from "../../../claude/transcript/task_notification.ts";
import { AGENTS } from "../../protocol/questions/allowed_calls.ts";
import type { SubagentLine } from "../input.ts";
import { isTextOf } from "../message.ts";
import { type ChildQueue, EMPTY_QUEUE, type SessionState } from "../session_state.ts";

/**
 * The queue after a line of the transcript. Its operations are written at once, other lines up to 0.1 s later (2.1.330).
 */
export function queueAfter(state: SessionState, entry: Entry): ChildQueue {
  const { childQueue: queue } = state;
  switch (entry.type) {
    case "other":
      return entry.line.type === "queue-operation" ? operated(state, entry.line) : queue;
    case "user": {
      const task = launchedIn(entry.toolUseResult);
      if (isPrompt(entry)) return { ...queue, leftAt: undefined };
      return task === undefined
        ? queue
        : { ...queue, running: queue.running.union(new Set([task])) };
    }
    default:
      return queue;
  }
}

function operated(state: SessionState, line: JsonObject): ChildQueue {
  const { childQueue: queue } = state;
  const { operation, content, timestamp } = line;
  if (operation === "enqueue") {
    const taskId = enqueuedNotification(line)?.taskId;
    const ended = new Set(taskId === undefined ? [] : [taskId]);
    return {
      ...queue,
      length: queue.length + 1,
      noticed: queue.noticed || isNotification(content) || isWakeup(state, content),
      running: queue.running.difference(ended),
      over: queue.over.union(ended),
      woken: queue.woken.difference(ended),
    };
  }
  const length = Math.max(0, queue.length - 1);
  const woken = wokenBy(queue, line);
  return {
    ...queue,
    length,
    noticed: queue.noticed && length > 0,
    woken: woken === undefined ? queue.woken : queue.woken.union(new Set([woken])),
    // A subagent that ends takes what is left for it out too, before the result of its call: with the turn's end announced,
    // none is left that its call waits for. The result of any call may be written after the child has gone on: only
    // operations on the queue are written at once.
    leftAt: queue.noticed && operation === "dequeue" &&
        (state.phase === "settling" || !isAgentAtWork(state))
      ? Date.parse(asText(timestamp))
      : queue.leftAt,
  };
}

/** Whether a text that the child puts into its queue wakes the model, whose time has come while a turn is under way. */
function isWakeup({ wakeup, sent, taken }: SessionState, text: unknown): boolean {
  return wakeup !== undefined && typeof text === "string" &&
    ![...sent, ...taken].some((prompt) => isTextOf(prompt, text));
}

/** Whether a call of a subagent has no result yet. */
function isAgentAtWork({ tools }: SessionState): boolean {
  return [...tools.values()].some((tool) => AGENTS.includes(tool));
}

/**
 * The subagent that was over and that the end of its shell, which leaves the queue for it, has at work again. Since
 * 2.1.330 the line says that it is a subagent that has it; before it is the shell's alone to tell.
 */
function wokenBy(
  { over, shells }: ChildQueue,
  { operation, content, reason = TO_AGENT }: JsonObject,
): string | undefined {
  if (operation !== "remove" || reason !== TO_AGENT) return undefined;
  const owner = shells.get(parseTaskNotification(content)?.taskId ?? "");
  return owner !== undefined && over.has(owner) ? owner : undefined;
}

const TO_AGENT = "delivered_to_agent";

/** Notes of a line of a subagent's that it has put a shell into the background. */
export function withShell(
  state: SessionState,
  { entry, subagent: { agentId } }: SubagentLine,
): SessionState {
  const shell = entry.type === "user" ? launchedIn(entry.toolUseResult) : undefined;
  if (shell === undefined) return state;
  const { childQueue: queue } = state;
  const shells = new Map([...queue.shells, [shell, agentId]]);
  return { ...state, childQueue: { ...queue, shells } };
}

/** The task in the background that a call has started, or started anew. */
function launchedIn(outcome: unknown): string | undefined {
  if (!isJsonObject(outcome)) return undefined;
  const { backgroundTaskId, isAsync, agentId, resumedAgentId } = outcome;
  const task = isAsync === true ? agentId : backgroundTaskId ?? resumedAgentId;
  return typeof task === "string" ? task : undefined;
}

/** Whether the child goes on by itself once a turn is over: with the end of a task. */
export function isFollowed(state: SessionState): boolean {
  const { length, noticed } = state.childQueue;
  return isNextTaken(state) || (noticed && length > 0);
}

/** Whether the child has taken that out of its queue after the turn, whose prompt is still to be read. */
export function isNextTaken(
  { phase, waits, announcedAt, options, childQueue: { leftAt } }: SessionState,
): boolean {
  const isUnderWay = phase === "working" && !waits && options.hookless !== true;
  if (leftAt === undefined || isUnderWay) return false;
  return announcedAt === undefined || !(leftAt < announcedAt);
}

/** Waits no longer for what is in the queue. */
export function givenUp(state: SessionState): SessionState {
  const { running, over, shells, woken } = state.childQueue;
  return { ...state, childQueue: { ...EMPTY_QUEUE, running, over, shells, woken } };
}
