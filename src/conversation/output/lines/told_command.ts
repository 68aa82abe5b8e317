import { tellTitle } from "../decisions.ts";
import { and, type FramesState, type Told, told } from "../telling/frames_state.ts";
import { say } from "../telling/saying.ts";
import { defined } from "../single/frame_context.ts";
import { framesOfEntry } from "../single/frames_of_entry.ts";
import { unavailableFrame } from "../single/unavailable_frame.ts";
import { claudeCommands } from "../../control/prompt/claude_commands.ts";
import { slashWord } from "../../control/prompt/slash_word.ts";
import { commandOutput } from "../../../claude/transcript/command_output.ts";
import type { Entry, UserEntry } from "../../../claude/transcript/entry.ts";
import { GOAL_COMMAND, isGoal } from "../../../claude/transcript/goal.ts";

/** How the transcript tells of a command. */
const COMMAND = /^<command-name>\/([^<\s]+)<\//u;
/** What Claude Code says of a title that it has given the session. */
const RENAMED = /^Session renamed to: (.+)$/su;

/**
 * Tells what a command has said that the child has carried out by itself, in the words with which `claude -p` tells it
 * that has carried it out. Of a compaction is told in its own way.
 */
export function tellToldCommand(state: FramesState, entry: Entry): Told {
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
