import { changePhase, type ControlStep } from "./control_step.ts";
import { endSession, ESCAPE, INTERRUPT_MS, KEPT_OUT } from "./end_session.ts";
import { refuseWithdrawn } from "../protocol/answers.ts";
import { isHook } from "../protocol/questions/printed_calls.ts";
import { deadline, write } from "./effect.ts";
import type { Message } from "./message.ts";
import type { SessionState } from "./session_state.ts";
import { isSent } from "./taken_prompts.ts";
import { idleDeadline } from "./wait_times.ts";

/** The key that deletes the character which keeps prompts out of the input box. */
const BACKSPACE = "\x7f";
/**
 * How long a child that has drawn since Escape was pressed may continue before Escape is pressed again, in
 * milliseconds. A surplus Escape hits a prompt in the child's queue: the child puts the prompt into its input box, or
 * stops it before it is written to the transcript (2.1.330).
 */
const AGAIN_MS = 3000;
/** The number of Escapes after which the child counts as unstoppable. */
const MAX_ESCAPES = 5;
/**
 * The maximum number of seconds in which a child may draw nothing after Escape. Such a child has not even read the key.
 */
const MAX_UNREAD = 30;
/**
 * The maximum number of seconds in which a child may not have taken a prompt that it may have lost, or not have made
 * its first request.
 */
const MAX_UNTAKEN = 5;
/** The tool whose calls `claude -p` 2.1.330 completes when an urgent message comes. */
const COMMAND_TOOL = "Bash";

/**
 * Stops the current turn, or the next one. `claude -p` has begun the turn of a message by the time it reads the next
 * request (2.1.330), but our child may still be starting.
 */
export function stopTurn(step: ControlStep): void {
  const { phase, isOnlyBackground, sent, queue } = step.state;
  switch (phase) {
    case "working":
    case "entered":
      // Background tasks are no turn: Escape would hit the next one.
      if (!isOnlyBackground) abortTurn(step);
      return;
    case "settling":
    case "aborting":
    case "interrupting":
      return;
    default:
      step.update(
        sent.length > 0 ? { sent: withFirstStopped(sent) } : { queue: withFirstStopped(queue) },
      );
  }
}

/**
 * Stops the current turn for an urgent message, but lets a running command end first. `claude -p` 2.1.330 does not kill
 * the command either: the turn continues until the command has ended, or its own timeout has moved it to the
 * background. Everything else is stopped immediately, as in `claude -p`: an answer, a subagent, a call of an MCP
 * server, a question to the caller. Of several calls, the later ones must not begin.
 */
export function stopForUrgentMessage(step: ControlStep): void {
  const { phase, tools } = step.state;
  const [[id, tool] = [], ...others] = tools;
  const isCommand = phase === "working" && tool === COMMAND_TOOL && others.length === 0;
  if (isCommand && !awaitsCaller(step.state)) step.update({ stopsAfter: id });
  else stopTurn(step);
}

/** Stops the turn once the command of `stopForUrgentMessage` has ended, or the caller is asked a question. */
export function stopAfterCommand(step: ControlStep): void {
  const { stopsAfter, phase, tools } = step.state;
  if (stopsAfter === undefined || phase !== "working") return;
  if (!tools.has(stopsAfter) || awaitsCaller(step.state)) abortTurn(step);
}

/** Whether a hook or a permission of the turn waits for the caller. */
function awaitsCaller({ openQuestions, waitingQuestions }: SessionState): boolean {
  return waitingQuestions.some(isHook) ||
    [...openQuestions.values()].some(({ kind }) => kind !== "server");
}

function withFirstStopped<Kind extends Message>(messages: readonly Kind[]): readonly Kind[] {
  return messages.map((message, at) => at === 0 ? { ...message, stopped: true } : message);
}

/** Stops the turn of the prompt that the child has just received, if the caller has stopped that prompt. */
export function abortIfStopped(step: ControlStep): void {
  if (step.state.sent[0]?.stopped) abortTurn(step);
}

/**
 * Ends the current turn as a person would. The conversation continues, and the model knows the prompt, as with `claude
 * -p`.
 *
 * Escape is pressed once the transcript holds the prompt. An earlier Escape would have no effect if the child has not
 * taken the prompt, or it would stop a prompt that the model never sees. If a turn is stopped before its first request
 * and the child has prompts in its queue, 2.1.330 continues with the queue before the turn has ended. It then writes
 * the line about the stop after the next prompts, as if those were stopped. So Escape also waits for the first request.
 */
function abortTurn(step: ControlStep): void {
  changePhase(step, { phase: "aborting" });
  if (isStoppable(step.state)) {
    pressEscape(step);
    return;
  }
  emitAbortDeadlines(step);
  step.emit({
    type: "trace",
    text: "stopped by the caller: its prompt or request is still to be written down",
  });
}

/** Waits for the turn to end because of an answer that stops it. If it does not end, Escape is pressed. */
export function awaitStoppedTurn(step: ControlStep): void {
  if (step.state.phase !== "working") return;
  changePhase(step, { phase: "aborting" });
  emitAbortDeadlines(step);
  step.emit({ type: "trace", text: "stopped by the caller's answer" });
}

/** Presses Escape in a turn that has to be stopped, if the hook or line that has just been read makes this possible. */
export function pressEscapeOnceStoppable(step: ControlStep): void {
  const { phase, escapes } = step.state;
  if (phase !== "aborting" || escapes > 0) return;
  if (isStoppable(step.state)) pressEscape(step);
  else step.emit(deadline("interrupt", INTERRUPT_MS));
}

/** Whether, according to lines, a stop of the child ends only this turn. */
function isStoppable(state: SessionState): boolean {
  return isPromptRecorded(state) && (state.hasRequestLine || state.sent.length === 0);
}

/**
 * Whether the transcript holds the prompt. After a Stop hook that has named background tasks, this is the next turn's
 * prompt.
 */
export function isPromptRecorded({ hasPromptLine, awaitsPromptLine }: SessionState): boolean {
  return hasPromptLine && !awaitsPromptLine;
}

/**
 * Whether a prompt whose hooks run does not belong to the turn that has to be stopped. The hooks of a turn's own prompt
 * end before its line is written, so the child has continued with a prompt in its queue.
 */
export function isNextPrompt(state: SessionState, prompt: unknown): boolean {
  return isPromptRecorded(state) || (state.isPromptKnown && isSent(state, prompt));
}

/** Cancels the stop: the turn is complete, except for its background tasks. */
export function cancelAbort(step: ControlStep): void {
  const { phase, escapes } = step.state;
  if (phase !== "aborting") return;
  changePhase(step, { phase: "working" });
  step.update({ escapes: 0, hasDrawn: false, stalls: 0, mayHaveStaleEscape: escapes > 0 });
  step.emit(deadline("interrupt"));
  clearInputBox(step, escapes);
  // A background subagent waits for the answer to a hook.
  refuseWithdrawn(step);
}

/** Treats the child's first output after Escape as the sign that the child has read the key. */
export function recordDrawing(step: ControlStep): void {
  const { phase, escapes, hasDrawn, status } = step.state;
  if (phase !== "aborting" || escapes === 0 || hasDrawn) return;
  step.update({ hasDrawn: true });
  if (status?.status !== "idle") step.emit(deadline("interrupt", AGAIN_MS));
}

/** Presses Escape again, waits longer or gives up: the child should have stopped, but is not idle. */
export function retryAbort(step: ControlStep): void {
  const { escapes, hasDrawn, stalls } = step.state;
  if (isPromptTaken(step.state)) {
    const isVain = hasDrawn ? escapes >= MAX_ESCAPES : escapes > 0 && stalls >= MAX_UNREAD;
    if (isVain) {
      endSession(step, { kind: "unstoppable" });
      return;
    }
    if (hasDrawn) {
      // A hook that delays the turn although Escape was read continues with a veto.
      refuseWithdrawn(step);
      pressEscape(step);
      return;
    }
    const waits = isPromptRecorded(step.state) && !isStoppable(step.state) && stalls < MAX_UNTAKEN;
    if (escapes === 0 && !waits) {
      pressEscape(step);
      return;
    }
  }
  step.update({ stalls: stalls + 1 });
  step.emit(deadline("interrupt", INTERRUPT_MS));
}

/**
 * Whether the child is known to have taken the turn's prompt. Before that, there is nothing to stop. A command has no
 * hook, and a compaction has no line before its end. A command is delivered only to a child that rests, so a busy child
 * is working on the command.
 */
export function isPromptTaken(
  { isPromptKnown, hasPromptLine, isWakeup, taken, sent, status, escapes }: SessionState,
): boolean {
  const [first] = sent;
  return isPromptKnown || hasPromptLine || isWakeup || taken.length > 0 || escapes > 0 ||
    first === undefined ||
    (first.command !== undefined && status?.status === "busy");
}

/**
 * Whether the turn that has to be stopped has ended, although no line shows it. A child that cannot be stopped yet may
 * be busy while its status file is still idle: on a busy machine, for 2 s. An Escape for the previous turn may have hit
 * the prompt; then the child forgets it after some seconds.
 */
export function isAborted(state: SessionState): boolean {
  const { status, escapes, mayHaveStaleEscape, stalls } = state;
  const isForgotten = mayHaveStaleEscape && stalls >= MAX_UNTAKEN;
  return status?.status === "idle" && (escapes > 0 || isStoppable(state) || isForgotten);
}

/** Deletes the characters that were typed before each Escape, once the turn has ended. */
export function clearInputBox(step: ControlStep, escapes: number): void {
  if (escapes > 0) step.emit(write(BACKSPACE.repeat(escapes)));
}

/** Presses Escape after a character. When the child draws the character, it has read both. */
function pressEscape(step: ControlStep): void {
  step.update({ escapes: step.state.escapes + 1, hasDrawn: false, stalls: 0 });
  step.emit(write(`${KEPT_OUT}${ESCAPE}`));
  emitAbortDeadlines(step);
  step.emit({ type: "trace", text: "stopped by the caller: Escape pressed" });
}

function emitAbortDeadlines(step: ControlStep): void {
  step.emit(deadline("interrupt", INTERRUPT_MS), deadline("idle"), deadline("look"));
}

/**
 * Whether the child may have lost the turn's prompt: an Escape for the previous turn may have hit it. A child that has
 * the prompt in its queue then puts it into its input box, and a child that runs the hooks of the prompt forgets it.
 * Both are idle from then on, and write nothing to the transcript (2.1.330).
 */
export function isPromptLost(
  { mayHaveStaleEscape, hasPromptLine, phase, status }: SessionState,
): boolean {
  return mayHaveStaleEscape && !hasPromptLine && (phase === "entered" || phase === "working") &&
    status?.status === "idle";
}

/** Limits the wait for a sign of a prompt that may be lost. */
export function boundLostPrompt(step: ControlStep): void {
  step.emit(isPromptLost(step.state) ? idleDeadline() : deadline("idle"));
}

/** Has another child take the lost prompts, because the content of this child's input box is unknown. */
export function resendLostPrompts(step: ControlStep): void {
  const { sent, taken, changes = {} } = step.state;
  step.update({ sent: [...taken, ...sent], taken: [] });
  endSession(step, { kind: "renewed", changes, lost: true });
}
