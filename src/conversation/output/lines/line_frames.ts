import { framesOfEntry } from "../frames/frames_of_entry.ts";
import { hookRemarks } from "../frames/hook_frames.ts";
import { updateTasks } from "../frames/task_ends.ts";
import {
  withOpenCalls,
  withoutEndedShells,
  withoutReturnedCalls,
  withWaitedShells,
} from "../live/long_calls.ts";
import { endTurn } from "../turns/turn_results.ts";
import type { OutputState, OutputStep } from "../output_state.ts";
import { withKept } from "./kept_lines.ts";
import { listOf } from "../../../chain.ts";
import { hasCapability } from "../../../claude/versions/profiles.ts";
import {
  type AssistantEntry,
  type Entry,
  isPrompt,
  type SystemEntry,
  type UserEntry,
} from "../../../claude/transcript/entry.ts";
import {
  GOAL_COMMAND,
  isGoalPrompt,
  readCommandOutput,
  readScheduledWakeup,
} from "../../../claude/transcript/special_entries.ts";
import { isMainRequest } from "../../../claude/transcript/session_listing.ts";
import { isAddedToPrompt } from "../../../claude/transcript/turn.ts";
import { readTaskNotification } from "../../../claude/transcript/task_notification.ts";
import { isStopRequested } from "./line_order.ts";
import { definedFields } from "../../../defined_fields.ts";
import { unavailableFrame } from "../frames/assistant_frames.ts";
import { claudeCommands } from "../../control/prompt/claude_commands.ts";
import { slashWord } from "../../control/prompt/prompt_text.ts";
import type { JsonObject } from "../../../json_object.ts";
import { emitAfterInit, emitImmediately, emitInit, emitTasks } from "../emit_frames.ts";
import { emitHookEnd } from "./hook_ends.ts";
import { emitPlanMode, emitTitle } from "../session_changes.ts";
import { emitTypedCompaction } from "./compaction.ts";
import {
  emitDeferredLines,
  emitSkillResult,
  forgetReturnedCalls,
  recordCalls,
} from "../subagents/subagent_lines.ts";
import { emitTypedSkill } from "../subagents/typed_skill.ts";
import { endReturnedShellCalls, recordShellCalls } from "../live/shell_output.ts";
import { forgetHookedStartsUntil } from "../subagents/hooked_tasks.ts";
import { forgetSkillCalls } from "../subagents/forked_skills.ts";
import { emitAnswerLine, emitBeforeUserLine, endCompleteAnswer } from "../live/live_answers.ts";

/** Emits a line of the session's own transcript. If the line begins a turn, the turn has already begun. */
export function emitPlainLine(step: OutputStep, entry: Entry): void {
  const { endingAt, hasInit } = step.state;
  const notification = readTaskNotification(entry);
  // The end of the run stops tasks, and the child may still report this to the model.
  if (endingAt !== undefined && notification?.status === "killed") {
    step.update({ isClosed: true });
    return;
  }
  recordLine(step, entry);
  const { version, prompt, kept } = step.state;
  if (version === undefined) return;
  if (prompt !== undefined && !hasInit && isLastOfListing(entry, step.state)) {
    emitInit(step, { model: commandModel(listOf(kept.entries)) });
  }
  emitLineFrames(step, entry, prompt);
  if (entry.type === "assistant") recordCallsOf(step, entry);
  if (entry.type === "user") recordResultsOf(step, entry);
  if (entry.type === "system" && entry.subtype === "turn_duration") {
    forgetSkillCalls(step);
    forgetHookedStartsUntil(step, entry.timestamp);
    endTurn(step, entry);
  }
  if (notification !== undefined) {
    step.update({ hasInit: false, isBetweenTurns: false });
    emitInit(step);
  }
}

/** Records what a line shows of the session and its turn. */
function recordLine(step: OutputStep, entry: Entry): void {
  const { kept, hasLinesSincePrompt } = step.state;
  const wakeup = readScheduledWakeup(entry);
  const isTurnStart: boolean = isPrompt(entry);
  step.update({
    kept: withKept(kept, entry),
    hasLinesSincePrompt: !isTurnStart &&
      (hasLinesSincePrompt || entry.type === "assistant" || entry.type === "user"),
  });
  if (wakeup !== undefined) step.update({ wakeupAt: wakeup === "never" ? undefined : wakeup });
  if (isPrompt(entry)) step.update({ prompt: entry });
}

/** Emits all frames of a line. */
function emitLineFrames(step: OutputStep, entry: Entry, prompt: UserEntry | undefined): void {
  endReturnedShellCalls(step, entry);
  emitSkillResult(step, entry);
  emitPlanMode(step, entry);
  if (!isStopRequested(step.state, entry)) {
    const { tasks } = step.state;
    emitTasks(step, (context) => updateTasks(tasks, entry, context));
  }
  if (!isAddedToPrompt(entry, prompt)) emitEntry(step, entry);
  emitTypedCompaction(step, entry);
  emitTypedSkill(step, entry);
  emitCommandOutput(step, entry);
}

function recordCallsOf(step: OutputStep, entry: AssistantEntry): void {
  const { openCalls, shells } = step.state;
  step.update({
    openCalls: withOpenCalls(openCalls, entry),
    shells: withWaitedShells(shells, entry),
  });
  recordCalls(step, entry);
  recordShellCalls(step, entry);
}

function recordResultsOf(step: OutputStep, entry: UserEntry): void {
  emitDeferredLines(step);
  const { openCalls, shells } = step.state;
  step.update({
    openCalls: withoutReturnedCalls(openCalls, entry),
    shells: withoutEndedShells(shells, entry),
  });
  forgetReturnedCalls(step, entry);
}

/** Returns the model of the command that is the last prompt, if the command has a model of its own. */
function commandModel(entries: readonly Entry[]): string | undefined {
  const line = entries.slice(entries.findLastIndex(isPrompt) + 1).findLast((entry) =>
    entry.type === "attachment" && entry.attachment.type === "command_permissions"
  );
  const model = line?.type === "attachment" ? line.attachment["model"] : undefined;
  return typeof model === "string" ? model : undefined;
}

/**
 * Whether a line is the last line that describes the session: its first request. Some versions write no requests to the
 * transcript. Then it is the list of skills, and the tools come from the observed request.
 */
function isLastOfListing(entry: Entry, { exact, observed, version }: OutputState): boolean {
  if (hasCapability(version, "writesRequests")) {
    return entry.type === "other" && isMainRequest(entry.line);
  }
  const stream = exact ?? observed;
  return entry.type === "attachment" && entry.attachment.type === "skill_listing" &&
    (stream === undefined || stream.offer !== undefined);
}

/** Emits the frames of a line by itself, or as a part of an answer that is streamed. */
function emitEntry(step: OutputStep, entry: Entry): void {
  emitHookEnd(step, entry);
  emitWords(step, entry);
  if (entry.type !== "system" && entry.type !== "attachment") return;
  const frames = step.capture(() => {
    emitImmediately(step, (context) => hookRemarks(entry, context));
  });
  // The turn of these frames begins with its `system/init`.
  if (frames.length === 0 || step.state.hasInit) step.emit(...frames);
  else step.update({ framesAfterInit: [...step.state.framesAfterInit, ...frames] });
}

function emitWords(step: OutputStep, entry: Entry): void {
  if (entry.type === "assistant" && entry.isSidechain !== true) {
    emitAnswerLine(step, entry);
    return;
  }
  const isOwn = entry.type === "user" && entry.isSidechain !== true;
  if (isOwn) emitBeforeUserLine(step, entry);
  emitAfterInit(step, (context) => framesOfEntry(entry, context));
  if (isOwn && !step.state.isAmidAnswer) endCompleteAnswer(step);
}

/** The form of a command in the transcript. */
const COMMAND = /^<command-name>\/([^<\s]+)<\//u;
/** The output of a command that gave the session a title. */
const RENAMED = /^Session renamed to: (.+)$/su;

/**
 * Emits the output of a command that the child has carried out itself, in the words of `claude -p`. A compaction has
 * frames of its own.
 */
function emitCommandOutput(step: OutputStep, entry: Entry): void {
  if (entry.type === "user") {
    if (isGoalPrompt(step.state.prompt)) emitGoal(step, entry);
    else emitFailedCommand(step, entry);
    return;
  }
  const text = entry.type === "system" ? readCommandOutput(entry) : undefined;
  const name = commandOf(step.state);
  if (entry.type !== "system" || text === undefined || name === undefined) return;
  // The result has the typed name, which may be an alias of the command.
  step.update({
    typedCommand: {
      command: reportedName(typedName(step.state) ?? name, step.state),
      result: text,
    },
  });
  const title = RENAMED.exec(text)?.[1];
  if (title !== undefined) emitTitle(step, title);
  emitCommandWords(step, {
    entry,
    text: text.trim(),
    fields: entry["commandRun"] === undefined ? {} : definedFields({
      local_command_source: entry["content"],
      local_command_run: entry["commandRun"],
      local_command_outcome: entry["commandOutcome"],
    }),
  });
}

/** Emits the frame that replaces the answer to a command. */
function emitCommandWords(
  step: OutputStep,
  { entry, text, fields }: {
    readonly entry: UserEntry | SystemEntry;
    readonly text: string;
    readonly fields: JsonObject;
  },
): void {
  emitAfterInit(step, (context) => [
    unavailableFrame(text, {
      ...context,
      uuid: entry.uuid ?? context.newUuid(),
      messageId: context.newUuid(),
      timestamp: entry.timestamp ?? "",
      carriedOut: fields,
    }),
  ]);
}

/** Emits the frames of a user's own command that has failed. */
function emitFailedCommand(step: OutputStep, entry: UserEntry): void {
  const name = commandOf(step.state);
  if (readCommandOutput(entry) === undefined || name === undefined) return;
  const command = reportedName(typedName(step.state) ?? name, step.state);
  step.update({ typedCommand: { command, result: "" } });
  emitAfterInit(step, (context) => framesOfEntry(entry, context));
}

/** Returns the name of the command as it was typed. */
function typedName({ taken }: OutputState): string | undefined {
  return slashWord(taken.at(-1)?.text ?? "")?.name;
}

/** Emits the frame of a goal that was set. */
function emitGoal(step: OutputStep, entry: UserEntry): void {
  const text = readCommandOutput(entry);
  if (text === undefined) return;
  const args = slashWord(step.state.taken.at(-1)?.text ?? "")?.rest ?? "";
  const fields = { local_command_run: { command: GOAL_COMMAND, args } };
  emitCommandWords(step, { entry, text, fields });
}

/** Returns the name of a command in a result. It hides the names of users' own commands. */
function reportedName(given: string, { version = "" }: OutputState): string {
  const isOwn = (claudeCommands(version).kinds.get(given) ?? "absent") !== "absent";
  return isOwn ? given.replaceAll("-", "_").replace(/^_+/u, "") : "custom";
}

/** Returns the command name of the prompt, unless the prompt is a compaction. */
function commandOf({ prompt }: OutputState): string | undefined {
  const content = prompt?.message.content;
  const name = typeof content === "string" ? COMMAND.exec(content)?.[1] : undefined;
  return name === "compact" ? undefined : name;
}
