import {
  calledSubagent,
  emitHookedTasks,
  forgetHookedReturns,
  forgetHookedStart,
} from "./hooked_tasks.ts";
import { framesOfEntry } from "../frames/frames_of_entry.ts";
import type { SubagentContext } from "../frames/frame_context.ts";
import { isOfAgent, isOfTask } from "../frames/user_frames.ts";
import { updateNestedTasks, wokenTask } from "../frames/task_ends.ts";
import { startTask, type Task, trackProgress } from "../frames/tasks.ts";
import {
  isSkillText,
  mayBeFork,
  recordForkStart,
  recordSkillCalls,
  recordSkillResult,
  skillName,
} from "./forked_skills.ts";
import { endCompleteAnswer } from "../live/live_answers.ts";
import { endReturnedShellCalls, recordShellCalls } from "../live/shell_output.ts";
import { type ForkedSkill, knownCall, type OutputState, type OutputStep } from "../output_state.ts";
import { chained } from "../../../chain.ts";
import { emitAfterInit, emitTasks } from "../emit_frames.ts";
import type { SubagentLine } from "../../control/input.ts";
import type { AssistantEntry, Entry, UserEntry } from "../../../claude/transcript/entry.ts";
import { resultText } from "../../../claude/transcript/kept_entry.ts";
import { readToolCalls, type ToolUse } from "../../../claude/transcript/turn.ts";
import { emitHookEnd } from "../lines/hook_ends.ts";

/** A line of a subagent, and the known facts about the call that started the subagent. */
interface CalledLine {
  readonly line: SubagentLine;
  readonly toolUseId: string;
  /** The call; undefined for a subagent of an earlier run, and if the call has been forgotten. */
  readonly call: ToolUse | undefined;
  /** The skill that the subagent runs, if any. */
  readonly fork: ForkedSkill | undefined;
}

/** Emits the frames of a line of a subagent's transcript, or defers the line until the subagent's call is known. */
export function emitSubagentLine(step: OutputStep, line: SubagentLine): void {
  const { subagent: { agentId }, entry } = line;
  recordForkStart(step, line);
  forgetHookedStart(step, agentId);
  const fork = step.state.forks.get(agentId);
  const toolUseId = fork?.call.id ?? line.subagent.toolUseId;
  if (toolUseId === undefined) {
    if (mayBeFork(step.state, line)) deferLine(step, line);
    return;
  }
  const called = { line, toolUseId, call: fork?.call ?? knownCall(step.state, toolUseId), fork };
  if (hasToWait(step.state, called)) {
    deferLine(step, line);
    return;
  }
  // The text of a subagent about being stopped is not printed. Lines that it wrote earlier may be read later.
  const isStopped = isWrittenAtEnd(step.state, entry) &&
    step.state.tasks.get(agentId)?.background === true;
  if (isStopped) return;
  const openSkills = step.state.skills.length;
  emitCalledLine(step, called);
  if (entry.type === "assistant") {
    recordCalls(step, entry, agentId);
    emitHookedTasks(step);
    recordShellCalls(step, entry);
    return;
  }
  // After the result of a skill, only one call of a skill may be open. The line may also have woken another subagent.
  const isAwaited = step.state.uncalledLines.some(({ subagent: { agentId: id } }) =>
    id === agentId || step.state.tasks.has(id)
  );
  if (step.state.skills.length < openSkills || isAwaited) emitDeferredLines(step);
  if (entry.type === "user") forgetReturnedCalls(step, entry);
}

function deferLine(step: OutputStep, line: SubagentLine): void {
  step.update({ uncalledLines: [...step.state.uncalledLines, line] });
}

function hasToWait(state: OutputState, { line, call }: CalledLine): boolean {
  const isUnknown = call === undefined && !state.allTasks.has(line.subagent.agentId);
  return isUnknown || state.version === undefined || isBeingWoken(state, line);
}

/**
 * Emits the frames of a line whose call is known: first the subagent's start, then the frames of other subjects, then
 * the line's own.
 */
function emitCalledLine(step: OutputStep, called: CalledLine): void {
  const { entry } = called.line;
  const background = emitSubagentStart(step, called);
  if (!step.state.isAmidAnswer) endCompleteAnswer(step);
  endReturnedShellCalls(step, entry);
  emitHookEnd(step, entry);
  emitSkillResult(step, entry);
  emitTasks(step, (context) => updateNestedTasks(step.state.tasks, entry, context));
  // If the turn waits for the subagent, `claude -p` reports the progress before the frame of the call, otherwise after
  // it.
  if (!background) emitProgress(step, called);
  emitWords(step, called, background);
  if (background) emitProgress(step, called);
}

/**
 * Emits that a subagent starts, with its first line or when a message wakes it. Returns whether it runs in the
 * background.
 */
function emitSubagentStart(step: OutputStep, called: CalledLine): boolean {
  const { line, toolUseId, call, fork } = called;
  const { subagent: { agentId, type, description }, entry } = line;
  const { tasks, allTasks } = step.state;
  const task = allTasks.get(agentId);
  // The end of a background shell wakes the subagent that started it, even if the subagent had ended.
  const woken = task !== undefined && !tasks.has(agentId) && entry.type === "user" &&
      isOfTask(entry.origin)
    ? wokenTask(task, entry.timestamp ?? "")
    : undefined;
  const isWoken = woken !== undefined || (task !== undefined && task.toolUseId !== toolUseId);
  const background = isWoken || isInBackground(step.state, called);
  if (task !== undefined && woken === undefined) return background;
  emitTasks(step, (context) =>
    startTask(
      step.state.tasks,
      woken ?? {
        ...calledSubagent(call),
        id: agentId,
        toolUseId,
        type: "local_agent",
        description,
        background,
        agentType: type,
        ...(fork === undefined ? {} : skillTask(fork, { entry, background })),
      },
      context,
    ));
  return background;
}

/**
 * Whether the turn continues without the subagent: according to its call, or for a skill according to its meta file or
 * the call's result.
 */
function isInBackground(
  { tasks }: OutputState,
  { line: { subagent }, call, fork }: CalledLine,
): boolean {
  if (fork === undefined) return calledSubagent(call).background;
  return tasks.get(subagent.agentId)?.background ?? subagent.background === true;
}

/** The fields of a task that runs a skill. */
function skillTask(
  { call }: ForkedSkill,
  { entry, background }: { readonly entry: Entry; readonly background: boolean },
): Partial<Pick<Task, "skill" | "description" | "prompt">> {
  return {
    ...(isSkillText(entry) ? { prompt: resultText(entry.message.content) } : {}),
    ...(background ? {} : { skill: "called", description: `/${skillName(call)}` }),
  };
}

/** Emits the frames of the line itself. */
function emitWords(step: OutputStep, called: CalledLine, background: boolean): void {
  const { line: { subagent: { agentId, type, description }, entry }, fork } = called;
  const { subagentText } = step.state.options;
  // A subagent that another subagent started is printed only if the caller asked for the text of subagents.
  const isNested = called.call?.agentId !== undefined;
  if (isNested && subagentText !== true) return;
  const shown = fork === undefined
    ? entry
    : entryOfSkill(entry, { background, subagentText: subagentText === true });
  if (shown === undefined) return;
  const subagent: SubagentContext = {
    toolUseId: called.toolUseId,
    agentId,
    type,
    description: fork === undefined || background ? description : fork.description,
    background,
  };
  emitAfterInit(step, (context) => framesOfEntry(shown, { ...context, subagent }));
}

/**
 * Returns a line of a skill's subagent as `claude -p` prints it: the skill's text is the subagent's prompt. Other
 * messages of Claude Code are printed only with the text of subagents.
 */
function entryOfSkill(
  entry: Entry,
  { background, subagentText }: { readonly background: boolean; readonly subagentText: boolean },
): Entry | undefined {
  if (entry.type !== "user" || entry.meaning !== "remark") return entry;
  if (isSkillText(entry)) return { ...entry, meaning: "prompt" };
  return background || subagentText ? entry : undefined;
}

/** Emits the progress of a subagent, as the calls of a line show it. */
function emitProgress(
  step: OutputStep,
  { line: { subagent: { agentId }, entry } }: CalledLine,
): void {
  const { cwd, home } = step.state.options;
  emitTasks(
    step,
    (context) => trackProgress(step.state.tasks, { agentId, entry, cwd, home }, context),
  );
}

/** Whether a line was written while the run was ending. A line without a time counts as such. */
function isWrittenAtEnd({ endingAt, options }: OutputState, entry: Entry): boolean {
  if (endingAt === undefined) return false;
  const { timestamp } = entry.type === "other" ? entry.line : entry;
  return typeof timestamp !== "string" || !(Date.parse(timestamp) < options.startedAt + endingAt);
}

/**
 * Emits the deferred lines of a skill's subagent, if a line is the result of the skill's call and names the subagent.
 */
export function emitSkillResult(step: OutputStep, entry: Entry): void {
  const { forks } = step.state;
  recordSkillResult(step, entry);
  const { uncalledLines } = step.state;
  if (uncalledLines.length === 0) return;
  const isNamed = ({ subagent: { agentId } }: SubagentLine) =>
    step.state.forks.has(agentId) && !forks.has(agentId);
  const named = uncalledLines.filter(isNamed);
  step.update({ uncalledLines: uncalledLines.filter((line) => !isNamed(line)) });
  for (const line of named) emitSubagentLine(step, line);
}

/**
 * Whether a line may belong to a subagent that a message has woken. The result of the call that sent the message shows
 * this. It is in the session's own transcript, and may be read later than the line although it was written earlier.
 */
function isBeingWoken(
  state: OutputState,
  { subagent: { agentId }, entry }: SubagentLine,
): boolean {
  const { tasks, allTasks, toolUses, uncalledLines } = state;
  if (tasks.has(agentId) || !allTasks.has(agentId)) return false;
  const isNext = uncalledLines.some(({ subagent }) => subagent.agentId === agentId) ||
    (entry.type === "user" && isOfAgent(entry.origin));
  return isNext &&
    ([...toolUses.values()].some(({ name }) => name === "SendMessage") ||
      isAfterOwnLines(state, entry));
}

/** Whether a line was written after all emitted lines of the turn in the session's own transcript. */
function isAfterOwnLines(
  { kept: { entries }, isBetweenTurns }: OutputState,
  entry: Entry,
): boolean {
  if (isBetweenTurns || entry.type === "other") return false;
  for (let line = entries; line !== undefined; line = line.before) {
    const { last } = line;
    if (last.type !== "other" && last.timestamp !== undefined) {
      return Date.parse(last.timestamp) < Date.parse(entry.timestamp ?? "");
    }
  }
  return false;
}

/**
 * Records the calls on a line, and emits the lines and hook reports that waited for them.
 *
 * @param agentId the subagent that makes the calls; undefined for the session itself
 */
export function recordCalls(
  step: OutputStep,
  { message }: AssistantEntry,
  agentId?: string,
): void {
  const calls = readToolCalls(message).map((call) =>
    agentId === undefined ? call : { ...call, agentId }
  );
  if (calls.length === 0 && step.state.uncalledLines.length === 0) return;
  const toolUses = new Map(step.state.toolUses);
  for (const call of calls) toolUses.set(call.id, call);
  step.update({ toolUses });
  recordSkillCalls(step, calls);
  emitHookedTasks(step);
  emitDeferredLines(step);
}

/** Emits the deferred lines of subagents whose calls are known by now. */
export function emitDeferredLines(step: OutputStep): void {
  const { uncalledLines } = step.state;
  if (uncalledLines.length === 0) return;
  step.update({ uncalledLines: [] });
  for (const line of uncalledLines) emitSubagentLine(step, line);
}

/**
 * Forgets the calls whose results a line holds. Calls that started subagents are kept, because the subagents may
 * continue.
 */
export function forgetReturnedCalls(step: OutputStep, { message }: UserEntry): void {
  if (typeof message.content === "string") return;
  forgetHookedReturns(step, message.content.map(({ tool_use_id: id }) => id));
  const toolUses = new Map(step.state.toolUses);
  let { failed, agentCalls } = step.state;
  for (const { tool_use_id: id, is_error } of message.content) {
    const call = typeof id === "string" ? toolUses.get(id) : undefined;
    if (call === undefined) continue;
    toolUses.delete(call.id);
    const startsAgent = call.name === "Agent" || call.name === "Task";
    if (startsAgent) agentCalls = new Map(agentCalls).set(call.id, call);
    // The result of the turn lists the input of refused calls.
    else if (is_error === true && call.agentId === undefined) failed = chained(failed, call);
  }
  step.update({ toolUses, agentCalls, failed });
}
