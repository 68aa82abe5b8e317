import { typedSkills } from "../subagents/forked_skills.ts";
import { noticeIn } from "./line_order.ts";
import { tellLines, tellWaiting } from "./tell_lines.ts";
import { chainOf, listOf } from "../../../chain.ts";
import { and, type FramesState, type Told, type TurnEnd } from "../telling/frames_state.ts";
import { tellResult } from "../turns/tell_result.ts";
import { skillIn } from "../subagents/typed_skill.ts";
import { commandOutput, isWords } from "../../../claude/transcript/special_entries.ts";
import { type Entry, isPrompt } from "../../../claude/transcript/entry.ts";
import { isJsonObject } from "../../../json_object.ts";

/**
 * Whether a line tells the end of a subagent whose last line has not been read, or that one goes on which the run has not
 * seen: all are written at once, to files of their own.
 */
export function isAheadOfSubagent(state: FramesState): boolean {
  const { own, subagents, uncalled, tasks, allTasks, options } = state;
  if (options.subagentsUnread) return false;
  const lines = [...uncalled, ...listOf(subagents)];
  const isSeen = (id: string) => lines.some(({ subagent }) => subagent.agentId === id);
  const isLaunched = (id: string) =>
    listOf(own).some((entry) =>
      entry.type === "user" && isJsonObject(entry.toolUseResult) &&
      entry.toolUseResult["agentId"] === id
    );
  const isSilent = (id: string) => {
    const last = lines.findLast(({ subagent, entry }) =>
      subagent.agentId === id && entry.type === "assistant"
    );
    return last === undefined ? tasks.get(id)?.spoken !== true : !isWords(last.entry);
  };
  // Ends that were told before the beginnings follow as soon as those are there.
  return [...state.notices, ...listOf(own)].some((entry, place, entries) => {
    if (entry.type === "other") {
      const { taskId: id = "", status } = noticeIn(entry) ?? {};
      const isSubagent = allTasks.get(id)?.type === "local_agent" || isSeen(id) || isLaunched(id);
      return status === "completed" && isSubagent && isSilent(id);
    }
    if (commandOutput(entry) !== undefined) {
      const typed = typedSkills(lines);
      return typed.some(isSilent) ||
        (typed.length === 0 && isOfSkill(state, entries.slice(0, place + 1)));
    }
    if (entry.type !== "user" || !isJsonObject(entry.toolUseResult)) return false;
    const { agentId: over, status, background, resumedAgentId: woken } = entry.toolUseResult;
    const isOver = status === "completed" || (status === "forked" && background !== true);
    return typeof over === "string" && isOver
      ? (tasks.has(over) || !allTasks.has(over)) && isSilent(over)
      : typeof woken === "string" && !allTasks.has(woken) && !isSeen(woken);
  });
}

/** Whether the last line is the output of a typed skill, whose subagent is printed too. */
function isOfSkill(state: FramesState, lines: readonly Entry[]): boolean {
  const prompt = lines.findLast(isPrompt) ?? state.prompt;
  return state.typed === undefined && skillIn(prompt) !== undefined;
}

/** Has the result of a turn, all of whose own lines are there, wait for those of a subagent. */
export function holdTurn(state: FramesState, end: TurnEnd): FramesState {
  const held = { ...end, cost: state.cost, lines: state.own?.length ?? 0 };
  return { ...state, awaitsSubagent: true, ended: [...state.ended, held] };
}

/**
 * Tells the lines so far, and behind those of its own each result that has waited for a subagent: of the next turn lines
 * may have been read by now.
 */
export function tellHeld(
  before: FramesState,
  tell: (state: FramesState) => Told = tellLines,
): Told {
  const place = before.ended.findIndex(({ lines }) => lines !== undefined);
  const end = before.ended[place];
  if (end?.lines === undefined) return tell(before);
  const own = listOf(before.own);
  const [lines, later] = [own.slice(0, end.lines), own.slice(end.lines)];
  // No later end is that of these lines.
  const ended = before.ended.slice(place + 1).map((each) =>
    each.lines === undefined ? each : { ...each, lines: each.lines - lines.length }
  );
  const over = and(
    and(
      tellLines({ ...before, own: chainOf(lines), ended: before.ended.slice(0, place) }),
      tellWaiting,
    ),
    (state) => tellResult(state, end),
  );
  return and(
    over,
    (state) => tellHeld({ ...state, own: chainOf(later), ended: [...state.ended, ...ended] }, tell),
  );
}
