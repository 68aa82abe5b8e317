import { framesOfEntry } from "../single/frames_of_entry.ts";
import { hookRemarks } from "../single/hook_frames.ts";
import { taskFramesOfEntry } from "../single/task_frames.ts";
import { tellTyped } from "./compaction.ts";
import { endWritten, tellAnswerLine, tellBeforeUser } from "../live/live_answers.ts";
import { withOpenCalls, withoutReturned } from "../live/long_calls.ts";
import { withoutEnded, withShells } from "../live/long_shells.ts";
import { noteShellCalls, tellReturnedShells } from "../live/shell_output.ts";
import { tellHookEnd } from "./hook_ends.ts";
import { tellPlanning } from "../decisions.ts";
import { endTurn } from "../turns/early_results.ts";
import { begin } from "../telling/beginning.ts";
import { and, type FramesState, type Told, told } from "../telling/frames_state.ts";
import { withKept } from "../telling/kept_lines.ts";
import { listOf } from "../../../chain.ts";
import { say, sayEarly, tellTasks } from "../telling/saying.ts";
import { forgetSkills } from "../subagents/forked_skills.ts";
import { forgetBegunUntil } from "../subagents/hooked_tasks.ts";
import { tellToldCommand } from "./told_command.ts";
import { tellTypedSkill } from "../subagents/typed_skill.ts";
import {
  forgetCalls,
  noteCalls,
  tellSkillResult,
  tellUncalled,
} from "../subagents/subagent_lines.ts";
import { hasCapability } from "../../../claude/versions/profiles.ts";
import { type Entry, isPrompt } from "../../../claude/transcript/entry.ts";
import { scheduledWakeup } from "../../../claude/transcript/scheduled_wakeup.ts";
import { isMainRequest } from "../../../claude/transcript/session_listing.ts";
import { isAddedToPrompt } from "../../../claude/transcript/turn/turn.ts";
import { notificationIn } from "../../../claude/transcript/task_notification.ts";
import { isToldToBeStopped } from "./line_order.ts";

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
