import type { OutputState, OutputStep } from "../output_state.ts";
import type { SubagentLine } from "../../control/input.ts";
import type { Entry, UserEntry } from "../../../claude/transcript/entry.ts";
import { isJsonObject } from "../../../json_object.ts";
import { resultText } from "../../../claude/transcript/kept_entry.ts";
import { findSkillDescription } from "../../../claude/transcript/special_entries.ts";
import type { ToolUse } from "../../../claude/transcript/turn.ts";

/**
 * Records the calls of the tool Skill. A skill with `context: fork` runs in a subagent, whose meta file names no call.
 */
export function recordSkillCalls(step: OutputStep, calls: readonly ToolUse[]): void {
  const skills = calls.filter(({ name }) => name === "Skill");
  if (skills.length > 0) step.update({ skills: [...step.state.skills, ...skills] });
}

/** Records from a call's result which subagent has run a skill, or that none has. */
export function recordSkillResult(step: OutputStep, entry: Entry): void {
  const { skills } = step.state;
  if (skills.length === 0 || entry.type !== "user" || entry.meaning !== "tool-result") return;
  const { message: { content }, toolUseResult } = entry;
  const ids = typeof content === "string" ? [] : content.map(({ tool_use_id }) => tool_use_id);
  const call = skills.find(({ id }) => ids.includes(id));
  if (call === undefined) return;
  const { agentId, status } = isJsonObject(toolUseResult) ? toolUseResult : {};
  if (status === "forked" && typeof agentId === "string") recordFork(step, { agentId, call });
  else step.update({ skills: skills.filter((each) => each !== call) });
}

/**
 * Records which skill a subagent runs, from its first line. It belongs to the only open call of the skill. If several
 * calls are possible, the result of the call will name the subagent.
 */
export function recordForkStart(
  step: OutputStep,
  { subagent: { agentId, toolUseId }, entry }: SubagentLine,
): void {
  const { forks, skills } = step.state;
  if (toolUseId !== undefined || forks.has(agentId) || hasDeferredLine(step.state, agentId)) return;
  if (!isSkillText(entry)) return;
  const folder = folderIn(entry);
  const [call, ...others] = skills.filter((call) =>
    folder === undefined || folder === skillName(call).split(":").at(-1)
  );
  if (call !== undefined && others.length === 0) recordFork(step, { agentId, call });
}

/** Whether a subagent whose call is not known may run a skill. */
export function mayBeFork(
  state: OutputState,
  { subagent: { agentId }, entry }: SubagentLine,
): boolean {
  return isSkillText(entry) || hasDeferredLine(state, agentId);
}

/**
 * Forgets the skill calls of a turn that has ended, and the deferred lines of subagents without a call. The user typed
 * the skill of such a subagent.
 */
export function forgetSkillCalls(step: OutputStep): void {
  const skills = step.state.skills.filter(({ agentId }) => agentId !== undefined);
  step.update({ skills });
  if (skills.length > 0) return;
  const { uncalledLines } = step.state;
  step.update({
    uncalledLines: uncalledLines.filter(({ subagent: { toolUseId } }) => toolUseId !== undefined),
  });
}

/** The ids of subagents that run typed skills, which have no call. */
export function typedSkillAgents(lines: readonly SubagentLine[]): readonly string[] {
  return lines.flatMap(({ subagent: { agentId, toolUseId }, entry }) =>
    toolUseId === undefined && isSkillText(entry) ? [agentId] : []
  );
}

/** The name of the skill that a call asks for. */
export function skillName({ input }: ToolUse): string {
  const name = isJsonObject(input) && typeof input.skill === "string" ? input.skill : "";
  return name.trim().replace(/^\//u, "");
}

/** Whether a line is a skill's text, which is the first line of its subagent. */
export function isSkillText(entry: Entry): entry is UserEntry {
  return entry.type === "user" && entry.meaning === "remark" && entry.parentUuid === null;
}

/** The last part of the folder at the beginning of a skill's text. The text of a custom command names none. */
function folderIn({ message }: UserEntry): string | undefined {
  const [first = ""] = resultText(message.content).split("\n", 1);
  const [, folder] = /^Base directory for this skill: .*?([^/]+)\/?$/u.exec(first) ?? [];
  return folder;
}

function hasDeferredLine({ uncalledLines }: OutputState, agentId: string): boolean {
  return uncalledLines.some(({ subagent }) => subagent.agentId === agentId);
}

/** Records which call of a skill a subagent runs. */
export function recordFork(
  step: OutputStep,
  { agentId, call }: { readonly agentId: string; readonly call: ToolUse },
): void {
  const { uncalledLines, kept, skills, forks } = step.state;
  // If the model received no list of skills, lines of the subagent may list them.
  const entries = [...kept.notes.skillListings, ...uncalledLines.map(({ entry }) => entry)];
  const description = findSkillDescription(entries, skillName(call));
  step.update({
    skills: skills.filter((each) => each !== call),
    forks: new Map(forks).set(agentId, { call, description }),
  });
}
