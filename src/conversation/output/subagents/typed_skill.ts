import { hasCapability } from "../../../claude/versions/profiles.ts";
import { framesOfEntry } from "../frames/frames_of_entry.ts";
import { endSkill } from "../frames/task_ends.ts";
import { startTask, type Task } from "../frames/tasks.ts";
import { unavailableFrame } from "../frames/assistant_frames.ts";
import { isSkillText, recordFork, typedSkillAgents } from "./forked_skills.ts";
import { emitDeferredLines } from "./subagent_lines.ts";
import type { OutputStep } from "../output_state.ts";
import { emitAfterInit, emitImmediately, emitTasks } from "../emit_frames.ts";
import { REVIEWS } from "../../control/prompt/claude_commands.ts";
import { slashWord } from "../../control/prompt/prompt_text.ts";
import { readCommandOutput } from "../../../claude/transcript/special_entries.ts";
import type { Entry, UserEntry } from "../../../claude/transcript/entry.ts";
import { resultText } from "../../../claude/transcript/kept_entry.ts";

/**
 * Emits a typed skill with `context: fork` when a line holds its output: first the work of its subagent, then the
 * output.
 */
export function emitTypedSkill(step: OutputStep, entry: Entry): void {
  const { typedCommand, prompt, taken } = step.state;
  const text = typedCommand === undefined ? readCommandOutput(entry) : undefined;
  const name = text === undefined ? undefined : typedSkillName(prompt);
  if (text === undefined || name === undefined || entry.type === "other") return;
  // A command may have several names. The typed name is printed.
  const command = commandName(slashWord(taken.at(-1)?.text ?? "")?.name ?? name);
  step.update({ typedCommand: { command, result: text.trim() } });
  emitWork(step, name);
  emitAfterInit(step, (context) => {
    if (entry.type === "user") return framesOfEntry(entry, context);
    return [unavailableFrame(text, {
      ...context,
      uuid: entry.uuid ?? context.newUuid(),
      messageId: context.newUuid(),
      timestamp: entry.timestamp ?? "",
      carriedOut: {},
    })];
  });
}

/**
 * Claude Code's own skills that print something: skills that run in a subagent, and one that only the model may use.
 */
const OWN_SKILLS = [...REVIEWS, "keybindings-help"];

/** The name of a command in a result, which hides the names of skills that are not Claude Code's own. */
function commandName(name: string): string {
  return OWN_SKILLS.includes(name) ? name.replaceAll("-", "_") : "custom";
}

/**
 * The name of the skill that a prompt asks for. The prompt of a command that Claude Code carries out itself begins with
 * a tag.
 */
export function typedSkillName(prompt: UserEntry | undefined): string | undefined {
  const content = prompt?.message.content;
  return typeof content === "string" ? slashWord(content)?.name : undefined;
}

/** Emits that the skill's subagent started and ended, before the `system/init` of the turn, and then its lines. */
function emitWork(step: OutputStep, name: string): void {
  const { uncalledLines, version } = step.state;
  const [agentId] = typedSkillAgents(uncalledLines);
  const lines = uncalledLines.filter(({ subagent }) => subagent.agentId === agentId);
  const [first] = lines;
  if (agentId === undefined || first === undefined) {
    step.update({ uncalledLines: [] });
    return;
  }
  const last = lines.findLast(({ entry }) => entry.type === "assistant")?.entry;
  const failed = last?.type === "assistant" && last.isApiErrorMessage === true;
  const call = { id: `forked-command-${name}`, name: "Skill", input: { skill: name } };
  const task: Task = {
    id: agentId,
    toolUseId: call.id,
    type: "local_agent",
    description: `/${name}`,
    background: false,
    agentType: first.subagent.type,
    skill: "typed",
    ...(isSkillText(first.entry) ? { prompt: resultText(first.entry.message.content) } : {}),
  };
  emitTasks(step, (context) => startTask(step.state.tasks, task, context), emitImmediately);
  emitTasks(
    step,
    (context) => endSkill(step.state.tasks, task, { failed, context }),
    emitImmediately,
  );
  if (hasCapability(version, "printsTypedSkills")) {
    recordFork(step, { agentId, call });
    emitDeferredLines(step);
  } else {
    step.update({ uncalledLines: [] });
  }
}
