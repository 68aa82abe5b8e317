import type { Entry } from "../transcript/entry.ts";
import { asText, isJsonObject, type JsonObject } from "../transcript/json_object.ts";
import { enqueuedNotification, isNotification } from "../transcript/task_notification.ts";
import { type ChildQueue, EMPTY_QUEUE, type SessionState } from "./session_state.ts";

/**
 * The queue after a line of the transcript. Its operations are written at once, other lines up to 0.1 s later (2.1.197,
 * 2.1.330).
 */
export function queueAfter(state: SessionState, entry: Entry): ChildQueue {
  const { childQueue: queue } = state;
  switch (entry.type) {
    case "other":
      return entry.line.type === "queue-operation" ? operated(state, entry.line) : queue;
    case "user": {
      if (entry.meaning === "prompt" && entry.isSidechain !== true) {
        return { ...queue, leftAt: undefined };
      }
      const task = launchedIn(entry.toolUseResult);
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
    const ended = enqueuedNotification(line)?.taskId;
    return {
      ...queue,
      length: queue.length + 1,
      noticed: queue.noticed || isNotification(content),
      running: ended === undefined ? queue.running : queue.running.difference(new Set([ended])),
    };
  }
  const length = Math.max(0, queue.length - 1);
  return {
    ...queue,
    length,
    noticed: queue.noticed && length > 0,
    // A subagent that ends takes what is left for it out too, before the result of its call.
    leftAt: queue.noticed && operation === "dequeue" && state.tools.size === 0
      ? Date.parse(asText(timestamp))
      : queue.leftAt,
  };
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
  { phase, announcedAt, options, childQueue: { leftAt } }: SessionState,
): boolean {
  if (leftAt === undefined || (phase === "working" && options.hookless !== true)) return false;
  return announcedAt === undefined || !(leftAt < announcedAt);
}

/** Waits no longer for what is in the queue. */
export function givenUp(state: SessionState): SessionState {
  const { running } = state.childQueue;
  return { ...state, childQueue: { ...EMPTY_QUEUE, running } };
}
