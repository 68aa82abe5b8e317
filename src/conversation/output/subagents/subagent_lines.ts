import { calledSubagent, forgetBegun, forgetHooked, tellHookedTasks } from "./hooked_tasks.ts";
import { framesOfEntry } from "../frames/frames_of_entry.ts";
import { isOfAgent, isOfTask } from "../frames/user_frames.ts";
import { nestedTask, wakened } from "../frames/task_ends.ts";
import { startTask, type Task, tellProgress } from "../frames/tasks.ts";
import {
  isSkillText,
  mayBeFork,
  noteFork,
  noteSkillCalls,
  noteSkillResult,
  skillOf,
} from "./forked_skills.ts";
import { tellHookEnd } from "../lines/hook_ends.ts";
import { endWritten } from "../live/live_answers.ts";
import { noteShellCalls, tellReturnedShells } from "../live/shell_output.ts";
import {
  and,
  type ForkedSkill,
  type FramesState,
  knownCall,
  type Told,
  told,
} from "../telling/frames_state.ts";
import { chained } from "../../../chain.ts";
import { say, tellTasks } from "../telling/saying.ts";
import type { SubagentLine } from "../../control/input.ts";
import type { AssistantEntry, Entry, UserEntry } from "../../../claude/transcript/entry.ts";
import { resultText } from "../../../claude/transcript/kept_entry.ts";
import { callsOf } from "../../../claude/transcript/turn.ts";

/** Tells a line of a subagent's transcript, once its call is known. */
export function tellSubagentLine(before: FramesState, line: SubagentLine): Told {
  const { subagent: { agentId, type, description }, entry } = line;
  const state = forgetBegun(noteFork(before, line), agentId);
  const fork = state.forks.get(agentId);
  const toolUseId = fork?.call.id ?? line.subagent.toolUseId;
  if (toolUseId === undefined) {
    return told(
      mayBeFork(state, line) ? { ...state, uncalled: [...state.uncalled, line] } : state,
    );
  }
  const call = fork?.call ?? knownCall(state, toolUseId);
  const task = state.allTasks.get(agentId);
  if (
    (call === undefined && task === undefined) || state.version === undefined ||
    isBeingWoken(state, line)
  ) {
    return told({ ...state, uncalled: [...state.uncalled, line] });
  }
  // What a subagent says of being stopped is not said in its turn; what it has said before may be read later.
  if (isWrittenAtEnd(state, entry) && state.tasks.get(agentId)?.background === true) {
    return told(state);
  }
  // The end of a shell in the background wakes the subagent that started it, even if that one was over.
  const woken = task !== undefined && !state.tasks.has(agentId) && entry.type === "user" &&
      isOfTask(entry.origin)
    ? wakened(task, entry.timestamp ?? "")
    : undefined;
  const isWoken = woken !== undefined || (task !== undefined && task.toolUseId !== toolUseId);
  const background = isWoken ||
    (fork === undefined ? calledSubagent(call).background : isForkApart(state, line));
  const started = task !== undefined && woken === undefined ? told(state) : tellTasks(
    state,
    (context) =>
      startTask(
        state.tasks,
        woken ?? {
          ...calledSubagent(call),
          id: agentId,
          toolUseId,
          type: "local_agent",
          description,
          background,
          agentType: type,
          ...(fork === undefined ? {} : forkIn(fork, { entry, background })),
        },
        context,
      ),
  );
  const subagent = {
    toolUseId,
    agentId,
    type,
    description: fork === undefined || background ? description : fork.description,
    background,
  };
  const shown = fork === undefined ? entry : shownOfFork(state, { entry, background });
  const ahead = and(
    and(
      state.amid ? started : and(started, endWritten),
      (state) => tellReturnedShells(state, entry),
    ),
    (state) =>
      and(
        and(tellHookEnd(state, entry), (state) => tellSkillResult(state, entry)),
        (state) => tellNested(state, entry),
      ),
  );
  // What a subagent's own subagents say is told with what subagents say, and only then.
  const isSaid = call?.agentId === undefined || state.options.subagentText === true;
  const words = (state: FramesState) =>
    isSaid && shown !== undefined
      ? say(state, (context) => framesOfEntry(shown, { ...context, subagent }))
      : told(state);
  const progress = (state: FramesState) =>
    tellTasks(state, (context) => {
      const { cwd, home } = state.options;
      return tellProgress(state.tasks, { agentId, entry, cwd, home }, context);
    });
  const next = background ? and(and(ahead, words), progress) : and(and(ahead, progress), words);
  if (entry.type !== "assistant") {
    // After the result of a skill there may be a single call that is open, and another subagent may have been woken.
    const { skills: { length } } = state;
    const rest = and(next, (state) => {
      const isAwaited = state.uncalled.some(({ subagent: { agentId: id } }) =>
        id === agentId || state.tasks.has(id)
      );
      return state.skills.length < length || isAwaited ? tellUncalled(state) : told(state);
    });
    return entry.type === "user" ? and(rest, (state) => told(forgetCalls(state, entry))) : rest;
  }
  return and(
    and(and(next, (state) => noteCalls(state, entry, agentId)), tellHookedTasks),
    (state) => noteShellCalls(state, entry),
  );
}

/** Whether a line was written once the run was ending; one without a time is taken for that then. */
function isWrittenAtEnd({ endingAt }: FramesState, entry: Entry): boolean {
  if (endingAt === undefined) return false;
  const { timestamp } = entry.type === "other" ? entry.line : entry;
  return typeof timestamp !== "string" || !(Date.parse(timestamp) < endingAt);
}

/** Whether the turn does not wait for a skill's subagent, as its note says, or the result of its call said later. */
function isForkApart({ tasks }: FramesState, { subagent }: SubagentLine): boolean {
  return tasks.get(subagent.agentId)?.background ?? subagent.background === true;
}

/** What is told of a skill's subagent as it begins. */
function forkIn(
  { call }: ForkedSkill,
  { entry, background }: { readonly entry: Entry; readonly background: boolean },
): Partial<Pick<Task, "skill" | "description" | "prompt">> {
  return {
    ...(isSkillText(entry) ? { prompt: resultText(entry.message.content) } : {}),
    ...(background ? {} : { skill: "called", description: `/${skillOf(call)}` }),
  };
}

/**
 * Returns a line of a skill's subagent as `claude -p` prints it: the skill's text is the subagent's prompt. Other remarks
 * of Claude Code are printed only with the text of subagents.
 */
function shownOfFork(
  { options }: FramesState,
  { entry, background }: { readonly entry: Entry; readonly background: boolean },
): Entry | undefined {
  if (entry.type !== "user" || entry.meaning !== "remark") return entry;
  if (isSkillText(entry)) return { ...entry, meaning: "prompt" };
  return background || options.subagentText === true ? entry : undefined;
}

/** Tells what a skill's subagent has said, if only the result of the call names it. */
export function tellSkillResult(before: FramesState, entry: Entry): Told {
  const state = noteSkillResult(before, entry);
  const { uncalled } = state;
  if (uncalled.length === 0) return told(state);
  const isNamed = ({ subagent: { agentId } }: SubagentLine) =>
    state.forks.has(agentId) && !before.forks.has(agentId);
  return uncalled.filter(isNamed).reduce<Told>(
    (said, line) => and(said, (state) => tellSubagentLine(state, line)),
    told({ ...state, uncalled: uncalled.filter((line) => !isNamed(line)) }),
  );
}

/**
 * Whether a line may be of a subagent that goes on because of a message, as the result of that call will say: the call is
 * in the session's own transcript, of which what was written before that line may be read after it.
 */
function isBeingWoken(
  state: FramesState,
  { subagent: { agentId }, entry }: SubagentLine,
): boolean {
  const { tasks, allTasks, toolUses, uncalled } = state;
  if (tasks.has(agentId) || !allTasks.has(agentId)) return false;
  const isNext = uncalled.some(({ subagent }) => subagent.agentId === agentId) ||
    (entry.type === "user" && isOfAgent(entry.origin));
  return isNext &&
    ([...toolUses.values()].some(({ name }) => name === "SendMessage") ||
      isAheadOfOwn(state, entry));
}

/** Whether a line was written later in a turn than all that has been told of the session's own lines. */
function isAheadOfOwn({ kept: { entries }, rested }: FramesState, entry: Entry): boolean {
  if (rested || entry.type === "other") return false;
  for (let line = entries; line !== undefined; line = line.before) {
    const { last } = line;
    if (last.type !== "other" && last.timestamp !== undefined) {
      return Date.parse(last.timestamp) < Date.parse(entry.timestamp ?? "");
    }
  }
  return false;
}

function tellNested(state: FramesState, entry: Entry): Told {
  return tellTasks(state, (context) => nestedTask(state.tasks, entry, context));
}

/** Notes the calls that a line holds; `agentId` is the subagent's whose they are. */
export function noteCalls(
  state: FramesState,
  { message }: AssistantEntry,
  agentId?: string,
): Told {
  const calls = callsOf(message).map((call) => agentId === undefined ? call : { ...call, agentId });
  if (calls.length === 0 && state.uncalled.length === 0) return told(state);
  const toolUses = new Map(state.toolUses);
  for (const call of calls) toolUses.set(call.id, call);
  return and(
    tellHookedTasks(noteSkillCalls({ ...state, toolUses }, calls)),
    tellUncalled,
  );
}

/** Tells lines of subagents that had to wait for their calls, or until somebody woke them. */
export function tellUncalled(state: FramesState): Told {
  const { uncalled } = state;
  if (uncalled.length === 0) return told(state);
  return uncalled.reduce<Told>(
    (said, line) => and(said, (state) => tellSubagentLine(state, line)),
    told({ ...state, uncalled: [] }),
  );
}

/** Forgets the calls whose results a line holds, but for those that have started subagents: these may go on. */
export function forgetCalls(state: FramesState, { message }: UserEntry): FramesState {
  if (typeof message.content === "string") return state;
  const toolUses = new Map(state.toolUses);
  let { failed, agentCalls } = state;
  const { hooked } = forgetHooked(state, message.content.map(({ tool_use_id: id }) => id));
  for (const { tool_use_id: id, is_error } of message.content) {
    const call = typeof id === "string" ? toolUses.get(id) : undefined;
    if (call === undefined) continue;
    toolUses.delete(call.id);
    const startsAgent = call.name === "Agent" || call.name === "Task";
    if (startsAgent) agentCalls = agentCalls.with(call.id, call);
    // What a refused call was given is a part of the result.
    else if (is_error === true && call.agentId === undefined) failed = chained(failed, call);
  }
  return toolUses.size === state.toolUses.size && hooked === state.hooked
    ? state
    : { ...state, toolUses, agentCalls, failed, hooked };
}
