import type { FramesState } from "../telling/frames_state.ts";
import type { SubagentLine } from "../../control/input.ts";
import type { Entry, UserEntry } from "../../../claude/transcript/entry.ts";
import { isJsonObject } from "../../../json_object.ts";
import { resultText } from "../../../claude/transcript/kept_entry.ts";
import { skillDescription } from "../../../claude/transcript/special_entries.ts";
import type { ToolUse } from "../../../claude/transcript/turn.ts";

/** Notes calls of the tool Skill: a skill with `context: fork` is carried out by a subagent whose note names no call. */
export function noteSkillCalls(state: FramesState, calls: readonly ToolUse[]): FramesState {
  const skills = calls.filter(({ name }) => name === "Skill");
  return skills.length === 0 ? state : { ...state, skills: [...state.skills, ...skills] };
}

/** Notes which subagent has carried out a skill, or that none has, as the result of the call says. */
export function noteSkillResult(state: FramesState, entry: Entry): FramesState {
  if (state.skills.length === 0 || entry.type !== "user" || entry.meaning !== "tool-result") {
    return state;
  }
  const { message: { content }, toolUseResult } = entry;
  const ids = typeof content === "string" ? [] : content.map(({ tool_use_id }) => tool_use_id);
  const call = state.skills.find(({ id }) => ids.includes(id));
  if (call === undefined) return state;
  const { agentId, status } = isJsonObject(toolUseResult) ? toolUseResult : {};
  return status === "forked" && typeof agentId === "string"
    ? withFork(state, { agentId, call })
    : { ...state, skills: state.skills.filter((each) => each !== call) };
}

/**
 * Notes which call a subagent carries out, by its first line: the only open one of that skill. Where there are more, and
 * where the text is not known to be that skill's, the result of the call will say it.
 */
export function noteFork(
  state: FramesState,
  { subagent: { agentId, toolUseId }, entry }: SubagentLine,
): FramesState {
  const isKnown = toolUseId !== undefined || state.forks.has(agentId) || isWaiting(state, agentId);
  if (isKnown || !isSkillText(entry)) return state;
  const folder = folderIn(entry);
  const [call, ...others] = state.skills.filter((call) =>
    folder === undefined || folder === skillOf(call).split(":").at(-1)
  );
  return call === undefined || others.length > 0 ? state : withFork(state, { agentId, call });
}

/** Whether a subagent may be one that carries out a skill, though it is not known which call that is. */
export function mayBeFork(
  state: FramesState,
  { subagent: { agentId }, entry }: SubagentLine,
): boolean {
  return isSkillText(entry) || isWaiting(state, agentId);
}

/** Nobody has called what still waits for its call when a turn is over: a typed skill has no call. */
export function forgetSkills(state: FramesState): FramesState {
  const skills = state.skills.filter(({ agentId }) => agentId !== undefined);
  const uncalled = skills.length > 0
    ? state.uncalled
    : state.uncalled.filter(({ subagent: { toolUseId } }) => toolUseId !== undefined);
  return { ...state, skills, uncalled };
}

/** The ids of subagents that carry out skills which nobody has called: somebody has typed them. */
export function typedSkills(lines: readonly SubagentLine[]): readonly string[] {
  return lines.flatMap(({ subagent: { agentId, toolUseId }, entry }) =>
    toolUseId === undefined && isSkillText(entry) ? [agentId] : []
  );
}

/** The name of the skill that a call asks for. */
export function skillOf({ input }: ToolUse): string {
  const name = isJsonObject(input) && typeof input.skill === "string" ? input.skill : "";
  return name.trim().replace(/^\//u, "");
}

/** Whether a line is a skill's text, with which its subagent begins. */
export function isSkillText(entry: Entry): entry is UserEntry {
  return entry.type === "user" && entry.meaning === "remark" && entry.parentUuid === null;
}

/** The last part of the folder that a skill's text names ahead of it; that of a custom command names none. */
function folderIn({ message }: UserEntry): string | undefined {
  const [first = ""] = resultText(message.content).split("\n", 1);
  const [, folder] = /^Base directory for this skill: .*?([^/]+)\/?$/u.exec(first) ?? [];
  return folder;
}

function isWaiting({ uncalled }: FramesState, agentId: string): boolean {
  return uncalled.some(({ subagent }) => subagent.agentId === agentId);
}

/** Notes which call a subagent carries out. */
export function withFork(
  state: FramesState,
  { agentId, call }: { readonly agentId: string; readonly call: ToolUse },
): FramesState {
  // Where nothing was said to the model itself, its subagent alone has been told what there is.
  const own = state.uncalled.map(({ entry }) => entry);
  const entries = [...state.kept.notes.skillListings, ...own];
  return {
    ...state,
    skills: state.skills.filter((each) => each !== call),
    forks: state.forks.with(agentId, {
      call,
      description: skillDescription(entries, skillOf(call)),
    }),
  };
}
