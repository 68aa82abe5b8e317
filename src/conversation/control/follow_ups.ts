import { type Entry, isPrompt } from "../../claude/transcript/entry.ts";
import { asText, isJsonObject, type JsonObject } from "../../json_object.ts";
import {
  enqueuedNotification,
  isNotification,
  parseTaskNotification,
} from "../../claude/transcript/task_notification.ts";
import { AGENTS } from "../protocol/questions/allowed_calls.ts";
import type { HookPayload, SubagentLine } from "./input.ts";
import { isTextOf } from "./message.ts";
import { type ChildQueue, EMPTY_QUEUE, type SessionState } from "./session_state.ts";
import type { Effect } from "./effect.ts";
import { deadline } from "./step.ts";
import type { TranscriptSign } from "./transcript_sign.ts";
import { currentPrompt } from "./taken_prompts.ts";
import { isGoalTyped, pursuesAfter } from "../../claude/transcript/special_entries.ts";

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

/** How long `claude -p` waits for the model to be woken after its time, or after the end of a turn that is later. */
const GRACE_MS = 120_000;

/** The session after a line of the transcript that may say when the model is woken. */
export function withWakeup(state: SessionState, { wakeup }: TranscriptSign): SessionState {
  if (wakeup === undefined || Number.isNaN(wakeup)) return state;
  return {
    ...state,
    wakeup: wakeup === "never" ? undefined : { at: state.lifeAt + wakeup },
  };
}

/**
 * Whether the Stop hook has named a prompt that waits for its time and comes once: which of them wakes the model, and is
 * waited for, is said by the transcript alone.
 */
export function mayBeWoken({ stop, options }: SessionState): boolean {
  return options.wakeless !== true && (oneTimers(stop)?.length ?? 0) > 0;
}

/** Whether the model is woken once the turn is over. A turn that failed has no hook that would name what waits. */
export function isToBeWoken({ wakeup, stop, options }: SessionState): boolean {
  return wakeup !== undefined && options.wakeless !== true && oneTimers(stop)?.length !== 0;
}

function oneTimers(stop: HookPayload | undefined): readonly unknown[] | undefined {
  const crons = stop?.["session_crons"];
  return Array.isArray(crons)
    ? crons.filter((cron) => isJsonObject(cron) && cron["recurring"] === false)
    : undefined;
}

/** Has a session in which there is nothing else to do wait for the model to be woken. */
export function withAwaitedWakeup(state: SessionState): SessionState {
  return state.wakeup === undefined
    ? state
    : { ...state, wakeup: { ...state.wakeup, awaited: true } };
}

/** Bounds that wait. */
export function overWhenNotWoken({ wakeup, lifeAt }: SessionState): readonly Effect[] {
  return wakeup?.awaited
    ? [deadline("background", Math.max(0, wakeup.at - lifeAt) + GRACE_MS)]
    : [];
}

/**
 * Whether something beside our Stop hook may make the assistant go on: another one, or a goal, which is looked after by
 * one of Claude Code's own. Then Stop is the end only once the child is idle.
 */
export function hasOtherStopHooks(state: SessionState): boolean {
  return state.options.otherStopHooks || state.pursues ||
    isGoalTyped(currentPrompt(state)?.text ?? "");
}

/** Notes whether the session pursues a goal after some lines. */
export function withGoal(state: SessionState, entries: readonly Entry[]): SessionState {
  const pursues = entries.map(pursuesAfter).findLast((each) => each !== undefined);
  return pursues === undefined || pursues === state.pursues ? state : { ...state, pursues };
}
