import { pressEscapeOnceStoppable } from "./stop_turn.ts";
import { onSubagentWoken } from "./background_turns.ts";
import { beginTurn } from "./begin_turn.ts";
import { changePhase, type ControlStep } from "./control_step.ts";
import { deadline } from "./effect.ts";
import { isFollowed, isNextTaken, queueAfter, recordGoal, recordWakeup } from "./follow_ups.ts";
import { recordOutputWritten } from "../protocol/structured_output.ts";
import { answerEndHook, awaitTranscript, endSession, settledEnding } from "./end_session.ts";
import { deliverNext, restWithTasks } from "./deliver.ts";
import { claudeCommands, REVIEWS } from "./prompt/claude_commands.ts";
import { type Entry, isScheduledPrompt } from "../../claude/transcript/entry.ts";
import { GOAL_COMMAND } from "../../claude/transcript/special_entries.ts";
import { lineId } from "../../claude/transcript/entry_order.ts";
import { isMainRequest } from "../../claude/transcript/session_listing.ts";
import { isNotification } from "../../claude/transcript/task_notification.ts";
import { type TranscriptSign, transcriptSign } from "./transcript_sign.ts";
import { slashWord } from "./prompt/prompt_text.ts";
import type { SessionState } from "./session_state.ts";
import { currentPrompt, findWrittenPrompt, takeFirst } from "./taken_prompts.ts";
import {
  beginNextTurn,
  endAtOnce,
  endCarriedOutTurn,
  endHooklessTurn,
  endRecordedTurn,
  endTurn,
} from "./end_turn.ts";
import { followUpDeadline, idleDeadline, settlingDeadlines } from "./wait_times.ts";

/** The parts of the state before a line was read that are still needed. */
type KnownBefore =
  & Pick<SessionState, "hasPromptLine" | "hasRequestLine" | "awaitsPromptLine">
  & { readonly isFollowed: boolean };

/** A line of the transcript and its meaning for control. */
interface Line {
  readonly line: Entry;
  readonly sign: TranscriptSign;
}

/** Receives a line of the transcript. It may show which tools run, what is written, and that the turn has ended. */
export function onTranscript(step: ControlStep, line: Entry): void {
  const sign = transcriptSign(line);
  const { childQueue: { wokenAgents }, knownLines } = step.state;
  const { hasPromptLine, hasRequestLine, awaitsPromptLine } = step.state;
  const { wakeup, isWakeup, awaitsEarlierLines } = step.state;
  const before: KnownBefore = {
    hasPromptLine,
    hasRequestLine,
    awaitsPromptLine,
    isFollowed: isFollowed(step.state),
  };
  const wasNextTaken = isNextTaken(step.state);
  recordSession(step, { line, sign });
  if (
    step.state.childQueue.wokenAgents.size > wokenAgents.size && step.state.ending === undefined
  ) {
    onSubagentWoken(step);
    return;
  }
  const isOfTime = line.type === "user" && isScheduledPrompt(line);
  const asked = sign.asked === undefined || isOfTime
    ? undefined
    : findWrittenPrompt(step.state, sign.asked);
  if (sign.prompt && asked?.isUnannounced && step.state.phase === "settling") {
    // The child continues with a prompt of its queue, whose hook has not been received yet.
    endTurn(step, settledEnding(step.state) ?? { kind: "aborted" }, { recorded: false });
    onTranscript(step, line);
    return;
  }
  const isNotice = sign.prompt && asked?.isFound === false && isNotification(sign.asked);
  // A wake-up without a hook.
  const isWoken = isOfTime && wakeup !== undefined && !isWakeup && !awaitsEarlierLines;
  // The child continues with the end of a task. If that turn has ended too, the child took the prompt before.
  const mayBegin = isWoken || (isNotice && wasNextTaken);
  if (mayBegin && beginNextTurn(step, { woken: isWoken, noticed: isNotice })) {
    onTranscript(step, line);
    return;
  }
  const isLate = step.state.awaitsEarlierLines &&
    (!sign.prompt || asked?.isLate === true || (isNotice && awaitsLine(step.state)) ||
      isOfTurnBefore(step.state, line));
  if (asked !== undefined) {
    // A message that joined the previous turn does not belong to this turn.
    step.update(isLate ? { ...asked.changes, taken: step.state.taken } : asked.changes);
  }
  recordId(step, { line, given: ownId(knownLines, asked?.uuid) });
  step.update({
    awaitsEarlierLines: isLate,
    awaitsPromptLine: step.state.awaitsPromptLine && !sign.prompt,
    isWakeup: step.state.isWakeup || isWoken,
    isTaskNotice: step.state.isTaskNotice || (isNotice && !isLate),
  });
  if (!isLate) recordTurn(step, { line, sign });
  followLine(step, { line, sign }, before);
}

/** Records the facts of a line about the session. They do not depend on the turn. */
function recordSession(step: ControlStep, { line, sign }: Line): void {
  const childQueue = queueAfter(step.state, line);
  const tools = toolsAfter(step.state.tools, sign);
  recordOutputWritten(step, sign.returned);
  recordGoal(step, [line]);
  recordWakeup(step, sign);
  step.update({ childQueue, tools });
  const { version } = line.type === "other" ? {} : line;
  if (step.state.version === undefined && version !== undefined) step.update({ version });
}

/** Whether a line was written before the end of the previous turn. */
function isOfTurnBefore({ beganAfter }: SessionState, line: Entry): boolean {
  const { timestamp = "" } = line.type === "other" ? {} : line;
  return beganAfter !== undefined && Date.parse(timestamp) < beganAfter;
}

/** Whether the turn belongs to a message whose line has not been read. */
function awaitsLine({ taken, unwritten }: SessionState): boolean {
  return taken.some((prompt) => prompt.command === undefined && unwritten.includes(prompt));
}

/** Reacts to a line that is recorded. */
function followLine(step: ControlStep, { line, sign }: Line, before: KnownBefore): void {
  const {
    phase,
    ending,
    awaitsEarlierLines,
    hasPromptLine,
    awaitsPromptLine,
    isHalted,
    hasBackgroundTasks,
  } = step.state;
  if (phase === "ending") return answerEndHook(step);
  if (phase === "reading") return awaitTranscript(step);
  if (phase === "interrupting") {
    if (sign.end !== undefined) endSession(step, ending);
    return;
  }
  if (awaitsEarlierLines) return;
  if (sign.end === "interrupted" && mayBeStopped(step.state)) {
    return endTurn(step, { kind: "aborted" });
  }
  const isNews = !before.hasPromptLine || !before.hasRequestLine ||
    before.awaitsPromptLine !== awaitsPromptLine;
  if (phase === "aborting" && hasPromptLine && isNews) {
    step.update({ isPromptKnown: true });
    return pressEscapeOnceStoppable(step);
  }
  if (sign.end === "completed" && isHalted && phase === "working") return settleHaltedTurn(step);
  if (hasBackgroundTasks && line.type === "system" && line.subtype === "turn_duration") {
    // This is the last line of a turn, at which its result is printed. The order of lines distinguishes the turn's own
    // prompt from the next one. The time of the Stop hook does not.
    return restWithTasks(step);
  }
  if (phase === "settling") {
    if (isContinued(step.state, sign)) return beginTurn(step);
    if (endRecordedTurn(step) || endAtOnce(step)) return;
    if (isFollowed(step.state) && !before.isFollowed) step.emit(followUpDeadline(step.state));
    return;
  }
  if (sign.prompt) return beginWrittenTurn(step, before);
  if (endCarriedOutTurn(step) || endHooklessTurn(step)) return;
  if (isRefused(step.state, sign)) step.emit(idleDeadline());
}

/**
 * Whether another Stop hook has continued the turn after the hook that announced its end. On a busy machine, the line
 * about an earlier Stop hook may be read after the next Stop hook.
 */
function isContinued(
  { announcedAt = Infinity }: SessionState,
  { continuedAt = -Infinity }: TranscriptSign,
): boolean {
  return continuedAt >= announcedAt;
}

/** Waits for the child to be idle after a turn that a hook has stopped after a tool: no Stop hook follows. */
function settleHaltedTurn(step: ControlStep): void {
  const deadlines = settlingDeadlines(step.state);
  takeFirst(step);
  changePhase(step, { phase: "settling" });
  step.update({ stop: {}, isCostSettled: false });
  if (!endRecordedTurn(step)) step.emit(...deadlines);
}

/** Begins the turn of a prompt that is in the transcript. */
function beginWrittenTurn(step: ControlStep, before: KnownBefore): void {
  const isIdle = step.state.status?.status === "idle";
  step.update({ isPromptKnown: true });
  beginTurn(step);
  // A child that stays idle with the prompt in its transcript carried the prompt out itself, without the model.
  if (isIdle) step.emit(idleDeadline());
  // The end of a task starts a turn. The first prompt may be written late.
  if (before.hasPromptLine) step.emit(deadline("background"));
  deliverNext(step);
}

/**
 * Whether Escape was pressed to end this turn. On a busy machine, the last line of the previous turn may come seconds
 * after that turn, before this turn's prompt. A command may have no line before its end.
 */
function mayBeStopped(state: SessionState): boolean {
  const { phase, mayHaveStaleEscape, hasPromptLine } = state;
  const isOwn = hasPromptLine || currentPrompt(state)?.command !== undefined;
  return isOwn && (phase === "aborting" || (phase === "working" && mayHaveStaleEscape));
}

/**
 * Whether the child warns that the pasted text is not a command. It stays idle, without a status change (2.1.330).
 */
function isRefused({ phase, status }: SessionState, { warns }: TranscriptSign): boolean {
  return phase === "entered" && warns === true && status?.status === "idle";
}

/**
 * Returns the id that the caller gave a message, unless another line has it. If two lines have the same id, Claude Code
 * finds only one of them when it resumes a session, and may lose earlier lines.
 */
function ownId(lines: SessionState["knownLines"], given: string | undefined): string | undefined {
  return given !== undefined && lines.has(given) ? undefined : given;
}

/** Records a line's id, and reports it if the caller gave the message another one. */
function recordId(
  step: ControlStep,
  { line, given }: { readonly line: Entry; readonly given: string | undefined },
): void {
  const { knownLines, lineIds } = step.state;
  const id = lineId(line);
  if (id !== undefined) step.update({ knownLines: knownLines.with(id) });
  if (given === undefined) return;
  if (line.type === "user" && line.uuid !== undefined) {
    step.update({ lineIds: new Map(lineIds).set(given, line.uuid) });
  }
  // A message that the child took during a turn is an attachment; its id is in `source_uuid`.
  const named = line.type === "attachment"
    ? line.attachment["source_uuid"]
    : line.type === "user"
    ? line.uuid
    : undefined;
  if (typeof named === "string" && given !== "" && given !== named) {
    const { facts } = step.state;
    step.update({ facts: { ...facts, givenIds: new Map(facts.givenIds).set(named, given) } });
    step.emit({ type: "named", line: named, given });
  }
}

/** Records the facts of a turn's line about the turn. */
function recordTurn(step: ControlStep, { line, sign }: Line): void {
  const { state } = step;
  // On a busy machine, the last line of the previous turn may be read after the next message is delivered.
  const isComplete = sign.end === "completed" && state.hasPromptLine;
  const carriedOut = state.isCarriedOut || (sign.carriedOut === true && endsTurn(state, line));
  const shellLimitMs = sign.shellLimitMs === undefined
    ? state.shellLimitMs
    : Math.max(sign.shellLimitMs, state.shellLimitMs ?? 0);
  step.update({
    hasAnswerLine: (state.hasAnswerLine && !sign.prompt) || line.type === "assistant",
    hasPromptLine: state.hasPromptLine || sign.prompt,
    hasRequestLine: state.hasRequestLine || (line.type === "other" && isMainRequest(line.line)),
    isCarriedOut: carriedOut,
    isHalted: (state.isHalted && !sign.prompt) || sign.halted === true,
    blocked: sign.blocked ?? (sign.prompt ? undefined : state.blocked),
    // A text before a call, or before its result, does not end the turn, even if the last text is equal.
    answer: sign.text ?? (sign.called.size + sign.returned.length > 0 ? "" : state.answer),
    isComplete: isComplete || (state.isComplete && sign.isSystem) ||
      (sign.failed === true && state.options.hookless === true),
    hasEndLine: isComplete || (state.hasEndLine && !sign.prompt),
    shellLimitMs,
  });
}

/**
 * Whether the prompt is a command whose output ends the turn. A skill has output if a subagent runs it. If a command
 * sets a goal, its line has the type `user`, and an API request follows; all other results of the goal command are
 * system lines.
 */
function endsTurn(state: SessionState, line: Entry): boolean {
  const { version = "" } = state;
  const command = slashWord(currentPrompt(state)?.text ?? "");
  if (command === undefined) return false;
  const kind = claudeCommands(version).kinds.get(command.name) ?? "absent";
  return kind === "told" || kind === "absent" || REVIEWS.includes(command.name) ||
    (command.name === GOAL_COMMAND && line.type === "system");
}

/** The running tools after a line of the transcript. Most lines neither hold a call nor a result. */
function toolsAfter(
  tools: ReadonlyMap<string, string>,
  { called, returned }: TranscriptSign,
): ReadonlyMap<string, string> {
  if (called.size === 0 && returned.length === 0) return tools;
  const after = new Map([...tools, ...called]);
  for (const id of returned) after.delete(id);
  return after;
}
