import { framesOfEntry } from "../frames/frames_of_entry.ts";
import { hookRemarks } from "../frames/hook_frames.ts";
import { taskFramesOfEntry } from "../frames/task_ends.ts";
import { tellTyped } from "./compaction.ts";
import { endWritten, tellAnswerLine, tellBeforeUser } from "../live/live_answers.ts";
import { withOpenCalls, withoutEnded, withoutReturned, withShells } from "../live/long_calls.ts";
import { noteShellCalls, tellReturnedShells } from "../live/shell_output.ts";
import { tellHookEnd } from "./hook_ends.ts";
import { tellPlanning, tellTitle } from "../decisions.ts";
import { endTurn } from "../turns/early_results.ts";
import { begin } from "../telling/beginning.ts";
import { and, type FramesState, type Told, told } from "../telling/frames_state.ts";
import { withKept } from "../telling/kept_lines.ts";
import { listOf } from "../../../chain.ts";
import { say, sayEarly, tellTasks } from "../telling/saying.ts";
import { forgetSkills } from "../subagents/forked_skills.ts";
import { forgetBegunUntil } from "../subagents/hooked_tasks.ts";
import { tellTypedSkill } from "../subagents/typed_skill.ts";
import {
  forgetCalls,
  noteCalls,
  tellSkillResult,
  tellUncalled,
} from "../subagents/subagent_lines.ts";
import { hasCapability } from "../../../claude/versions/profiles.ts";
import { type Entry, isPrompt, type UserEntry } from "../../../claude/transcript/entry.ts";
import {
  commandOutput,
  GOAL_COMMAND,
  isGoal,
  scheduledWakeup,
} from "../../../claude/transcript/special_entries.ts";
import { isMainRequest } from "../../../claude/transcript/session_listing.ts";
import { isAddedToPrompt } from "../../../claude/transcript/turn.ts";
import { notificationIn } from "../../../claude/transcript/task_notification.ts";
import { isToldToBeStopped } from "./line_order.ts";
import { defined } from "../frames/frame_context.ts";
import { unavailableFrame } from "../frames/assistant_frames.ts";
import { claudeCommands } from "../../control/prompt/claude_commands.ts";
import { slashWord } from "../../control/prompt/prompt_text.ts";

/** Tells a line of the session's own transcript, whose turn has begun if it begins one. */
export function tellPlainLine(state: FramesState, entry: Entry): Told {
  const notification = notificationIn(entry);
  // The end of the run stops tasks, and the child may still tell the model so.
  if (state.endingAt !== undefined && notification?.status === "killed") {
    return told({ ...state, closed: true });
  }
  const version = state.version ?? (entry.type === "other" ? undefined : entry.version);
  const prompt = isPrompt(entry) ? entry : state.prompt;
  const wakeup = scheduledWakeup(entry);
  const noted: FramesState = {
    ...state,
    ...(wakeup === undefined ? {} : { wakeupAt: wakeup === "never" ? undefined : wakeup }),
    kept: withKept(state.kept, entry),
    spoken: (state.spoken && !isPrompt(entry)) || entry.type === "assistant" ||
      (entry.type === "user" && !isPrompt(entry)),
    ...(prompt === undefined ? {} : { prompt }),
    ...(version === undefined ? {} : { version }),
  };
  if (version === undefined) return told(noted);
  const begun = prompt !== undefined && !state.begun && isLastOfListing(entry, noted)
    ? begin(noted, { model: commandModel(listOf(noted.kept.entries)) })
    : told(noted);
  let next = and(
    and(
      and(begun, (state) => tellReturnedShells(state, entry)),
      (state) => and(tellSkillResult(state, entry), (state) => tellPlanning(state, entry)),
    ),
    (state) =>
      isToldToBeStopped(state, entry)
        ? told(state)
        : tellTasks(state, (context) => taskFramesOfEntry(state.tasks, entry, context)),
  );
  if (!isAddedToPrompt(entry, prompt)) next = and(next, (state) => sayLine(state, entry));
  next = and(
    next,
    (state) => and(tellTyped(state, entry), (state) => tellTypedSkill(state, entry)),
  );
  next = and(
    next,
    (state) => tellToldCommand(state, entry),
  );
  if (entry.type === "assistant") {
    next = and(next, (state) => {
      const openCalls = withOpenCalls(state.openCalls, entry);
      const shells = withShells(state.shells, entry);
      return noteCalls({ ...state, openCalls, shells }, entry);
    });
    next = and(next, (state) => noteShellCalls(state, entry));
  }
  if (entry.type === "user") {
    next = and(next, tellUncalled);
    next = and(next, (state) => {
      const openCalls = withoutReturned(state.openCalls, entry);
      const shells = withoutEnded(state.shells, entry);
      return told(forgetCalls({ ...state, openCalls, shells }, entry));
    });
  }
  if (entry.type === "system" && entry.subtype === "turn_duration") {
    next = and(
      next,
      (state) => endTurn(forgetBegunUntil(forgetSkills(state), entry.timestamp), entry),
    );
  }
  return notification === undefined
    ? next
    : and(next, (state) => begin({ ...state, begun: false, rested: false }));
}

/** The model that the last prompt names, if that is a command with a model of its own. */
function commandModel(entries: readonly Entry[]): string | undefined {
  const line = entries.slice(entries.findLastIndex(isPrompt) + 1).findLast((entry) =>
    entry.type === "attachment" && entry.attachment.type === "command_permissions"
  );
  const model = line?.type === "attachment" ? line.attachment["model"] : undefined;
  return typeof model === "string" ? model : undefined;
}

/**
 * Whether a line is the last of those that describe the session: its first request. If the transcript notes none, it is
 * the list of skills, and a request that is heard names the tools.
 */
function isLastOfListing(entry: Entry, { exact, heard, version }: FramesState): boolean {
  if (hasCapability(version, "writesRequests")) {
    return entry.type === "other" && isMainRequest(entry.line);
  }
  const stream = exact ?? heard;
  return entry.type === "attachment" && entry.attachment.type === "skill_listing" &&
    (stream === undefined || stream.offer !== undefined);
}

/** Says what a line gives by itself, and as what it is a part of an answer that is told as it is written. */
function sayLine(before: FramesState, entry: Entry): Told {
  const said = and(tellHookEnd(before, entry), (state) => sayWords(state, entry));
  if (entry.type !== "system" && entry.type !== "attachment") return said;
  return and(said, (state) => {
    const { state: next, frames } = sayEarly(state, (context) => hookRemarks(entry, context));
    // The turn they belong to begins with its `system/init`.
    return frames.length === 0 || next.begun
      ? told(next, frames)
      : told({ ...next, early: [...next.early, ...frames] });
  });
}

function sayWords(state: FramesState, entry: Entry): Told {
  if (entry.type === "assistant" && entry.isSidechain !== true) return tellAnswerLine(state, entry);
  const words = (state: FramesState) => say(state, (context) => framesOfEntry(entry, context));
  if (entry.type !== "user" || entry.isSidechain === true) return words(state);
  const said = and(tellBeforeUser(state, entry), words);
  return state.amid ? said : and(said, endWritten);
}

/** How the transcript tells of a command. */
const COMMAND = /^<command-name>\/([^<\s]+)<\//u;
/** What Claude Code says of a title that it has given the session. */
const RENAMED = /^Session renamed to: (.+)$/su;

/**
 * Tells what a command has said that the child has carried out by itself, in the words with which `claude -p` tells it
 * that has carried it out. Of a compaction is told in its own way.
 */
function tellToldCommand(state: FramesState, entry: Entry): Told {
  if (entry.type === "user") {
    return isGoal(state.prompt) ? tellGoal(state, entry) : tellFailed(state, entry);
  }
  const text = entry.type === "system" ? commandOutput(entry) : undefined;
  const name = nameIn(state);
  if (entry.type !== "system" || text === undefined || name === undefined) return told(state);
  // The result has the name that was typed, which may be another one of the command.
  const given = givenName(state) ?? name;
  const typed: FramesState = {
    ...state,
    typed: { command: nameOf(given, state), result: text },
  };
  const title = RENAMED.exec(text)?.[1];
  return and(
    title === undefined ? told(typed) : tellTitle(typed, title),
    (state) =>
      say(state, (context) => [
        unavailableFrame(text.trim(), {
          ...context,
          uuid: entry.uuid ?? context.newUuid(),
          messageId: context.newUuid(),
          timestamp: entry.timestamp ?? "",
          carriedOut: entry["commandRun"] === undefined ? {} : defined({
            local_command_source: entry["content"],
            local_command_run: entry["commandRun"],
            local_command_outcome: entry["commandOutcome"],
          }),
        }),
      ]),
  );
}

/** Emits the result of a user's own command that has failed. */
function tellFailed(state: FramesState, entry: UserEntry): Told {
  const name = nameIn(state);
  if (commandOutput(entry) === undefined || name === undefined) return told(state);
  const command = nameOf(givenName(state) ?? name, state);
  return say(
    { ...state, typed: { command, result: "" } },
    (context) => framesOfEntry(entry, context),
  );
}

/** The name of the command as it was typed. */
function givenName({ taken }: FramesState): string | undefined {
  return slashWord(taken.at(-1)?.text ?? "")?.name;
}

/** Emits the frame of a goal that was set. */
function tellGoal(state: FramesState, entry: UserEntry): Told {
  const text = commandOutput(entry);
  if (text === undefined) return told(state);
  const args = slashWord(state.taken.at(-1)?.text ?? "")?.rest ?? "";
  return say(state, (context) => [
    unavailableFrame(text, {
      ...context,
      uuid: entry.uuid ?? context.newUuid(),
      messageId: context.newUuid(),
      timestamp: entry.timestamp ?? "",
      carriedOut: { local_command_run: { command: GOAL_COMMAND, args } },
    }),
  ]);
}

/** What a result says of a command: nobody is told the names of others' commands. */
function nameOf(given: string, { version = "" }: FramesState): string {
  const isOwn = (claudeCommands(version).kinds.get(given) ?? "absent") !== "absent";
  return isOwn ? given.replaceAll("-", "_").replace(/^_+/u, "") : "custom";
}

/** The name of the command that the prompt is, if it is one that is told here. */
function nameIn({ prompt }: FramesState): string | undefined {
  const content = prompt?.message.content;
  const name = typeof content === "string" ? COMMAND.exec(content)?.[1] : undefined;
  return name === "compact" ? undefined : name;
}
