import { hasCapability } from "../../../claude/versions/profiles.ts";
import { framesOfEntry } from "../frames/frames_of_entry.ts";
import { endSkill } from "../frames/task_ends.ts";
import { startTask, type Task } from "../frames/tasks.ts";
import { unavailableFrame } from "../frames/assistant_frames.ts";
import { isSkillText, typedSkills, withFork } from "./forked_skills.ts";
import { tellUncalled } from "./subagent_lines.ts";
import { and, type FramesState, type Told, told } from "../telling/frames_state.ts";
import { say, sayEarly, tellTasks } from "../telling/saying.ts";
import { REVIEWS } from "../../control/prompt/claude_commands.ts";
import { slashWord } from "../../control/prompt/prompt_text.ts";
import { commandOutput } from "../../../claude/transcript/special_entries.ts";
import type { Entry, UserEntry } from "../../../claude/transcript/entry.ts";
import { resultText } from "../../../claude/transcript/kept_entry.ts";

/**
 * Emits what became of a typed skill with `context: fork`, once its output is there: first what its subagent did, then
 * the output.
 */
export function tellTypedSkill(state: FramesState, entry: Entry): Told {
  const text = state.typed === undefined ? commandOutput(entry) : undefined;
  const name = text === undefined ? undefined : skillIn(state.prompt);
  if (text === undefined || name === undefined || entry.type === "other") return told(state);
  const typed: FramesState = {
    ...state,
    // One of several names of a command is told as it was typed.
    typed: {
      command: commandName(slashWord(state.taken.at(-1)?.text ?? "")?.name ?? name),
      result: text.trim(),
    },
  };
  const [agentId] = typedSkills(state.uncalled);
  const worked = agentId !== undefined
    ? tellWork(typed, { agentId, name })
    : told({ ...typed, uncalled: [] });
  return and(worked, (state) =>
    say(state, (context) => {
      if (entry.type === "user") return framesOfEntry(entry, context);
      return [unavailableFrame(text, {
        ...context,
        uuid: entry.uuid ?? context.newUuid(),
        messageId: context.newUuid(),
        timestamp: entry.timestamp ?? "",
        carriedOut: {},
      })];
    }));
}

/** Skills of Claude Code's own that say something: those of a subagent, and one that only the model may use. */
const OWN = [...REVIEWS, "keybindings-help"];

/** What a result says of the command: nobody is told the names of others' skills. */
function commandName(name: string): string {
  return OWN.includes(name) ? name.replaceAll("-", "_") : "custom";
}

/** The name of the skill that a prompt asks for; what Claude Code carries out by itself has a tag in its place. */
export function skillIn(prompt: UserEntry | undefined): string | undefined {
  const content = prompt?.message.content;
  return typeof content === "string" ? slashWord(content)?.name : undefined;
}

/** Tells what the subagent has done: that it began and ended comes ahead of the turn. */
function tellWork(
  before: FramesState,
  { agentId, name }: { readonly agentId: string; readonly name: string },
): Told {
  const lines = before.uncalled.filter(({ subagent }) => subagent.agentId === agentId);
  const [first] = lines;
  if (first === undefined) return told(before);
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
  const begun = tellTasks(before, (context) => startTask(before.tasks, task, context), sayEarly);
  const ended = and(begun, (state) =>
    tellTasks(
      state,
      (context) => endSkill(state.tasks, task, { failed, context }),
      sayEarly,
    ));
  return hasCapability(before.version, "printsTypedSkills")
    ? and(ended, (state) => tellUncalled(withFork(state, { agentId, call })))
    : and(ended, (state) => told({ ...state, uncalled: [] }));
}
