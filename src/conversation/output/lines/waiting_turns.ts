import { typedSkillAgents } from "../subagents/forked_skills.ts";
import { noticeIn } from "./line_order.ts";
import { chainOf, listOf } from "../../../chain.ts";
import type { OutputState, OutputStep, TurnEnd } from "../output_state.ts";
import { typedSkillName } from "../subagents/typed_skill.ts";
import { isTextAnswer, readCommandOutput } from "../../../claude/transcript/special_entries.ts";
import { type Entry, isPrompt } from "../../../claude/transcript/entry.ts";
import { isJsonObject } from "../../../json_object.ts";
import { emitLines, emitWithoutOutcome } from "./emit_lines.ts";
import { emitTurnResult } from "../turns/turn_results.ts";

/**
 * How long the output waits for the lines of a subagent that are written at the same time as its result, and for those
 * of a subagent that begins. A turn's result waits as long.
 */
export const SUBAGENT_DELAY = { type: "deadline", name: "subagent", afterMs: 1000 } as const;

/**
 * Whether a pending line is the end of a subagent whose last line has not been read, or wakes a subagent of which no
 * line has been read. Claude Code writes the files of subagents at the same time as the session's own.
 */
export function isAheadOfSubagent(state: OutputState): boolean {
  const { ownLines, subagentLines, uncalledLines, tasks, allTasks, options } = state;
  if (options.subagentsUnread) return false;
  const lines = [...uncalledLines, ...listOf(subagentLines)];
  const isSeen = (id: string) => lines.some(({ subagent }) => subagent.agentId === id);
  const isLaunched = (id: string) =>
    listOf(ownLines).some((entry) =>
      entry.type === "user" && isJsonObject(entry.toolUseResult) &&
      entry.toolUseResult["agentId"] === id
    );
  const isSilent = (id: string) => {
    const last = lines.findLast(({ subagent, entry }) =>
      subagent.agentId === id && entry.type === "assistant"
    );
    return last === undefined ? tasks.get(id)?.spoken !== true : !isTextAnswer(last.entry);
  };
  // Ends that were read before the beginnings are emitted as soon as the beginnings have been read.
  return [...state.taskEndLines, ...listOf(ownLines)].some((entry, place, entries) => {
    if (entry.type === "other") {
      const { taskId: id = "", status } = noticeIn(entry) ?? {};
      const isSubagent = allTasks.get(id)?.type === "local_agent" || isSeen(id) || isLaunched(id);
      return status === "completed" && isSubagent && isSilent(id);
    }
    if (readCommandOutput(entry) !== undefined) {
      const typed = typedSkillAgents(lines);
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

/** Whether the last line is the output of a typed skill whose subagent is also printed. */
function isOfSkill(state: OutputState, lines: readonly Entry[]): boolean {
  const prompt = lines.findLast(isPrompt) ?? state.prompt;
  return state.typedCommand === undefined && typedSkillName(prompt) !== undefined;
}

/**
 * Defers the result of a turn until the lines of a subagent have been read. All of the turn's own lines have been read.
 */
export function deferResult(step: OutputStep, end: TurnEnd): void {
  const { cost, ownLines, pendingEnds } = step.state;
  step.update({
    awaitsSubagent: true,
    pendingEnds: [...pendingEnds, { ...end, cost, lines: ownLines?.length ?? 0 }],
  });
}

/**
 * Emits the lines so far. After the lines of each turn that has waited for a subagent, emits the turn's result. Lines
 * of the next turn may already have been read.
 *
 * @param emit emits the lines after those turns
 */
export function emitWaitingTurns(
  step: OutputStep,
  emit: (step: OutputStep) => void = emitLines,
): void {
  const { pendingEnds } = step.state;
  const place = pendingEnds.findIndex(({ lines }) => lines !== undefined);
  const end = pendingEnds[place];
  if (end?.lines === undefined) {
    emit(step);
    return;
  }
  const own = listOf(step.state.ownLines);
  const [lines, later] = [own.slice(0, end.lines), own.slice(end.lines)];
  // A later end does not belong to these lines.
  const laterEnds = pendingEnds.slice(place + 1).map((each) =>
    each.lines === undefined ? each : { ...each, lines: each.lines - lines.length }
  );
  step.update({ ownLines: chainOf(lines), pendingEnds: pendingEnds.slice(0, place) });
  emitLines(step);
  emitWithoutOutcome(step);
  emitTurnResult(step, end);
  step.update({ ownLines: chainOf(later), pendingEnds: [...step.state.pendingEnds, ...laterEnds] });
  emitWaitingTurns(step, emit);
}
