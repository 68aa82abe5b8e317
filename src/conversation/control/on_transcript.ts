import { onStoppable } from "./stop_turn.ts";
import { onWoken } from "./background_turns.ts";
import { began } from "./begin_turn.ts";
import { isFollowed, isNextTaken, queueAfter, withGoal, withWakeup } from "./follow_ups.ts";
import { withOutputWritten } from "../protocol/structured_output.ts";
import { answerEndHook, awaitRest, end, settledEnding } from "./end_session.ts";
import { handToChild, restWithTasks } from "./deliver.ts";
import { claudeCommands, REVIEWS } from "./prompt/claude_commands.ts";
import type { Effect } from "./effect.ts";
import { type Entry, isTimed } from "../../claude/transcript/entry.ts";
import { GOAL_COMMAND } from "../../claude/transcript/special_entries.ts";
import { lineId } from "../../claude/transcript/entry_order.ts";
import { isMainRequest } from "../../claude/transcript/session_listing.ts";
import { isNotification } from "../../claude/transcript/task_notification.ts";
import { type TranscriptSign, transcriptSign } from "./transcript_sign.ts";
import { slashWord } from "./prompt/prompt_text.ts";
import type { SessionState } from "./session_state.ts";
import { act, deadline, stay, type Step } from "./step.ts";
import { currentPrompt, takeFirst, takeLine } from "./taken_prompts.ts";
import {
  intoNextTurn,
  overAtOnce,
  overOnRecord,
  overTurn,
  overWhenCarriedOut,
  overWithoutHooks,
} from "./end_turn.ts";
import { overWhenFollowed, overWhenIdle, untilSettled } from "./wait_times.ts";

/** A line of the transcript: what runs, what is on record, and whether the turn is over. */
export function onTranscript(before: SessionState, line: Entry): Step {
  const entry = transcriptSign(line);
  const version = before.version ?? (line.type === "other" ? undefined : line.version);
  const known: SessionState = {
    ...withWakeup(withGoal(withOutputWritten(before, entry.returned), [line]), entry),
    ...(version === undefined ? {} : { version }),
    tools: toolsAfter(before.tools, entry),
    childQueue: queueAfter(before, line),
  };
  if (known.childQueue.woken.size > before.childQueue.woken.size && known.ending === undefined) {
    return onWoken(known);
  }
  const isOfTime = line.type === "user" && isTimed(line);
  const asked = entry.asked === undefined || isOfTime ? undefined : takeLine(known, entry.asked);
  const given = idOfItsOwn(before, asked?.uuid);
  if (entry.prompt && asked?.isNews && known.phase === "settling") {
    // The child goes on with what it has in its queue, and the hook that says so has not been heard yet.
    const over = overTurn(known, settledEnding(known) ?? { kind: "aborted" }, { recorded: false });
    const next = onTranscript(over.state, line);
    return act(next.state, [...over.effects, ...next.effects]);
  }
  const isNotice = entry.prompt && asked?.state === known && isNotification(entry.asked);
  // The model is woken, of which no hook has told.
  const isWoken = isOfTime && before.wakeup !== undefined && !before.woken && !before.late;
  // The child goes on with the end of a task; where it has ended that turn too, it took the prompt before that.
  const begun = isWoken || (isNotice && isNextTaken(before))
    ? intoNextTurn(known, { woken: isWoken, noticed: isNotice })
    : undefined;
  if (begun !== undefined) {
    const next = onTranscript(begun.state, line);
    return act(next.state, [...begun.effects, ...next.effects]);
  }
  const isLate = known.late &&
    (!entry.prompt || asked?.isLate === true || (isNotice && awaitsLine(known)));
  const taken = named(asked?.state ?? known, { given, line });
  const id = lineId(line);
  const state = onRecord({
    ...taken,
    lines: id === undefined ? taken.lines : taken.lines.with(id, true),
    late: isLate,
    unasked: taken.unasked && !entry.prompt,
    woken: taken.woken || isWoken,
    noticed: taken.noticed || (isNotice && !isLate),
  }, { line, entry });
  const next = goOn(state, { before, line, entry });
  return act(next.state, [...namesOf(line, given), ...next.effects]);
}

/** Whether the turn is that of a message whose line is still to be read. */
function awaitsLine({ taken, unwritten }: SessionState): boolean {
  return taken.some((prompt) => prompt.command === undefined && unwritten.includes(prompt));
}

/** What is done because of a line that is on record. */
function goOn(
  state: SessionState,
  { before, line, entry }: {
    readonly before: SessionState;
    readonly line: Entry;
    readonly entry: TranscriptSign;
  },
): Step {
  if (state.phase === "ending") return answerEndHook(state);
  if (state.phase === "reading") return awaitRest(state);
  if (state.phase === "interrupting") {
    return entry.end === undefined ? stay(state) : end(state, state.ending);
  }
  if (state.late) return stay(state);
  if (entry.end === "interrupted" && mayBeStopped(state)) {
    return overTurn(state, { kind: "aborted" });
  }
  const isNews = !before.recorded || !before.requested || before.unasked !== state.unasked;
  if (state.phase === "aborting" && state.recorded && isNews) {
    return onStoppable({ ...state, prompted: true });
  }
  if (entry.end === "completed" && state.halted && state.phase === "working") {
    const halted: SessionState = {
      ...takeFirst(state),
      phase: "settling",
      stop: {},
      priced: false,
    };
    const over = overOnRecord(halted) ?? stay(halted);
    return over.state.phase === "settling"
      ? act(over.state, [...over.effects, ...untilSettled(state)])
      : over;
  }
  if (state.background && line.type === "system" && line.subtype === "turn_duration") {
    // This is the last line of a turn, at which its result is printed. The order of lines tells the turn's own prompt from
    // the next one; the time of the Stop hook does not.
    return restWithTasks(state);
  }
  if (state.phase === "settling") {
    const isNews = isFollowed(state) && !isFollowed(before);
    return overOnRecord(state) ?? overAtOnce(state) ??
      act(state, isNews ? [overWhenFollowed(state)] : []);
  }
  if (!entry.prompt) {
    return overWhenCarriedOut(state) ?? overWithoutHooks(state) ??
      act(state, isRefused(state, entry) ? [overWhenIdle()] : []);
  }
  const next = began({ ...state, prompted: true });
  // A child that stays idle with the prompt in its transcript carried it out by itself, without the model.
  const idle = state.status?.status === "idle" ? [overWhenIdle()] : [];
  // The end of a task starts a turn; the first prompt may be written late.
  const turn = before.recorded ? [deadline("background")] : [];
  const further = handToChild(next.state);
  return act(further.state, [...next.effects, ...idle, ...turn, ...further.effects]);
}

/**
 * Whether Escape was pressed to end the turn, or the one before, whose own last line comes before this one's prompt, on a
 * busy machine seconds after that turn was over. A command may have no line before its end.
 */
function mayBeStopped(state: SessionState): boolean {
  const { phase, shaken, recorded } = state;
  const isOwn = recorded || currentPrompt(state)?.command !== undefined;
  return isOwn && (phase === "aborting" || (phase === "working" && shaken));
}

/**
 * Whether the child says to what was pasted that it is no command: it is idle as before then, and says nothing of that
 * (2.1.330).
 */
function isRefused({ phase, status }: SessionState, { warns }: TranscriptSign): boolean {
  return phase === "entered" && warns === true && status?.status === "idle";
}

/**
 * The id that the caller gave a message. One that a line has already stays that line's alone: whoever goes on with the
 * session finds only one of two, and may lose what is before.
 */
function idOfItsOwn({ lines }: SessionState, given: string | undefined): string | undefined {
  return given !== undefined && lines.has(given) ? undefined : given;
}

/** Notes under which id the transcript has a prompt to which the caller gave another one. */
function named(
  state: SessionState,
  { given, line }: { readonly given: string | undefined; readonly line: Entry },
): SessionState {
  if (given === undefined || line.type !== "user" || line.uuid === undefined) return state;
  return { ...state, lineIds: state.lineIds.with(given, line.uuid) };
}

/** Tells of the id that a line has of a message to which the caller gave another one. */
function namesOf(line: Entry, given: string | undefined): readonly Effect[] {
  // What became a part of a turn is named beside the line's own id.
  const id = line.type === "attachment"
    ? line.attachment["source_uuid"]
    : line.type === "user"
    ? line.uuid
    : undefined;
  return typeof id !== "string" || !given || given === id
    ? []
    : [{ type: "named", line: id, given }];
}

/** What a line puts on record of the turn. */
function onRecord(
  before: SessionState,
  { line, entry }: { readonly line: Entry; readonly entry: TranscriptSign },
): SessionState {
  if (before.late) return before;
  return {
    ...before,
    answered: (before.answered && !entry.prompt) || line.type === "assistant",
    recorded: before.recorded || entry.prompt,
    requested: before.requested || (line.type === "other" && isMainRequest(line.line)),
    carriedOut: before.carriedOut || (entry.carriedOut === true && isTold(before, line)),
    halted: (before.halted && !entry.prompt) || entry.halted === true,
    blocked: entry.blocked ?? (entry.prompt ? undefined : before.blocked),
    // What is said ahead of a call, or of its result, is not what ends the turn, though that may say the same.
    answer: entry.text ?? (entry.called.size + entry.returned.length > 0 ? "" : before.answer),
    completed: entry.end === "completed" || (before.completed && entry.isSystem) ||
      (entry.failed === true && before.options.hookless === true),
    summed: entry.end === "completed" || (before.summed && !entry.prompt),
    ...(entry.shellLimitMs === undefined
      ? {}
      : { shellLimitMs: Math.max(entry.shellLimitMs, before.shellLimitMs ?? 0) }),
  };
}

/**
 * Whether the prompt is a command whose output ends the turn: a skill says something if it has a subagent. That a goal is
 * set is a line of the user's, and the model is asked then; whatever else becomes of one is said in Claude Code's name.
 */
function isTold(state: SessionState, line: Entry): boolean {
  const { version = "" } = state;
  const command = slashWord(currentPrompt(state)?.text ?? "");
  if (command === undefined) return false;
  const kind = claudeCommands(version).kinds.get(command.name) ?? "absent";
  return kind === "told" || kind === "absent" || REVIEWS.includes(command.name) ||
    (command.name === GOAL_COMMAND && line.type === "system");
}

/** The tools that run after a line of the transcript: most lines neither call one nor hold a result. */
function toolsAfter(
  tools: ReadonlyMap<string, string>,
  { called, returned }: TranscriptSign,
): ReadonlyMap<string, string> {
  if (called.size === 0 && returned.length === 0) return tools;
  const after = new Map([...tools, ...called]);
  for (const id of returned) after.delete(id);
  return after;
}
