import { changePhase, type ControlStep } from "./control_step.ts";
import { endSession, ESCAPE, INTERRUPT_MS, KEPT_OUT } from "./end_session.ts";
import { refuseWithdrawn } from "../protocol/answers.ts";
import { isHook } from "../protocol/questions/printed_calls.ts";
import { deadline, write } from "./effect.ts";
import type { Message } from "./message.ts";
import type { SessionState } from "./session_state.ts";
import { isSent } from "./taken_prompts.ts";
import { idleDeadline } from "./wait_times.ts";

/** The key that deletes what keeps prompts out of the input box. */
const BACKSPACE = "\x7f";
/**
 * How long a child that has drawn something since Escape was pressed may go on before Escape is pressed again. One Escape
 * too many hits a prompt in the child's queue: the child puts the prompt into its input box, or stops it before it is
 * written down (2.1.330).
 */
const AGAIN_MS = 3000;
/** After so many Escapes the child counts as unstoppable. */
const MAX_ESCAPES = 5;
/** For how many seconds a child may draw nothing after Escape: it has not even read the key. */
const MAX_UNREAD = 30;
/** For how many seconds a child may not have taken a prompt that it may have lost, or not have made its first request. */
const MAX_UNTAKEN = 5;
/** The tool whose calls run to their end in `claude -p` 2.1.330 when an urgent message comes. */
const COMMAND_TOOL = "Bash";

/**
 * Stops the turn under way, or the next one: `claude -p` has begun the turn of a message by the time it reads the request
 * after that message (2.1.330), while our child may have yet to start.
 */
export function stopTurn(step: ControlStep): void {
  const { phase, isOnlyBackground, sent, queue } = step.state;
  switch (phase) {
    case "working":
    case "entered":
      // Tasks in the background are no turn: Escape would hit the next one.
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
 * Stops the turn under way for an urgent message, but lets a running command end before that. `claude -p` 2.1.330 does not
 * kill the command either: the turn goes on until the command has ended, or its own timeout has put it into the background.
 * Everything else is stopped at once, as there: an answer, a subagent, a call of an MCP server, a question to the caller.
 * Of several calls the later ones must not begin.
 */
export function stopForUrgentMessage(step: ControlStep): void {
  const { phase, tools } = step.state;
  const [[id, tool] = [], ...others] = tools;
  const isCommand = phase === "working" && tool === COMMAND_TOOL && others.length === 0;
  if (isCommand && !awaitsCaller(step.state)) step.update({ stopsAfter: id });
  else stopTurn(step);
}

/** Stops the turn once the command has ended that `stopForUrgentMessage` waits for, or the caller is asked something. */
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

/** Stops the turn of the prompt that the child has just been given, if the caller has stopped that prompt. */
export function abortIfStopped(step: ControlStep): void {
  if (step.state.sent[0]?.stopped) abortTurn(step);
}

/**
 * Ends the turn under way as a person would, and nothing else: the conversation goes on, and the model knows what was
 * asked, as with `claude -p`.
 *
 * Escape is pressed once the transcript holds the prompt. An earlier Escape would stop nothing, if the child has yet to
 * take the prompt, or a prompt that the model is never told of. Where the child has something in its queue, 2.1.330 goes on
 * with that before a turn has ended that is stopped before its first request, and writes the line that says so after the
 * next prompts, as if those were stopped. So Escape waits for that request too.
 */
function abortTurn(step: ControlStep): void {
  const { phase } = step.state;
  if (phase !== "working" && phase !== "entered") return;
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

/** Waits for the turn to end by itself, because of an answer that stops it; Escape is pressed if it does not. */
export function awaitStoppedTurn(step: ControlStep): void {
  if (step.state.phase !== "working") return;
  changePhase(step, { phase: "aborting" });
  emitAbortDeadlines(step);
  step.emit({ type: "trace", text: "stopped by the caller's answer" });
}

/** Presses Escape in a turn that is to be stopped, if the hook or the line that has just been read makes that possible. */
export function pressEscapeOnceStoppable(step: ControlStep): void {
  const { phase, escapes } = step.state;
  if (phase !== "aborting" || escapes > 0) return;
  if (isStoppable(step.state)) pressEscape(step);
  else step.emit(deadline("interrupt", INTERRUPT_MS));
}

/** Whether, as far as lines tell, the child can be stopped as if nothing else were to follow. */
function isStoppable(state: SessionState): boolean {
  return isPromptRecorded(state) && (state.hasRequestLine || state.sent.length === 0);
}

/** Whether the transcript holds the prompt; after a Stop hook that has named tasks in the background, the next turn's. */
export function isPromptRecorded({ hasPromptLine, awaitsPromptLine }: SessionState): boolean {
  return hasPromptLine && !awaitsPromptLine;
}

/**
 * Whether a prompt whose hooks run is not that of the turn that is to be stopped. The hooks of a turn's own prompt end before
 * its line is written: the child goes on with a prompt in its queue.
 */
export function isNextPrompt(state: SessionState, prompt: unknown): boolean {
  return isPromptRecorded(state) || (state.isPromptKnown && isSent(state, prompt));
}

/** Stops nothing any more: the turn is complete, but for its tasks in the background. */
export function cancelAbort(step: ControlStep): void {
  const { phase, escapes } = step.state;
  if (phase !== "aborting") return;
  changePhase(step, { phase: "working" });
  step.update({ escapes: 0, hasDrawn: false, stalls: 0, mayHaveStaleEscape: escapes > 0 });
  step.emit(deadline("interrupt"));
  clearInputBox(step, escapes);
  // A subagent in the background waits for the answer to a hook.
  refuseWithdrawn(step);
}

/** Takes the child's first output after Escape as the sign that the child has read the key. */
export function recordDrawing(step: ControlStep): void {
  const { phase, escapes, hasDrawn, status } = step.state;
  if (phase !== "aborting" || escapes === 0 || hasDrawn) return;
  step.update({ hasDrawn: true });
  if (status?.status !== "idle") step.emit(deadline("interrupt", AGAIN_MS));
}

/** Presses Escape again, waits longer or gives up: the child is not idle, though it was to stop. */
export function retryAbort(step: ControlStep): void {
  const { escapes, hasDrawn, stalls } = step.state;
  if (isPromptTaken(step.state)) {
    const isVain = hasDrawn ? escapes >= MAX_ESCAPES : escapes > 0 && stalls >= MAX_UNREAD;
    if (isVain) {
      endSession(step, { kind: "unstoppable" });
      return;
    }
    if (hasDrawn) {
      // A hook that holds up the turn although Escape was read goes on with a veto.
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
 * Whether the child is known to have taken the turn's prompt: before that there is nothing to stop. A command has no hook,
 * and of a compaction there is no line before its end. A command is only given to a child that rests, so a busy child is
 * busy with that.
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
 * Whether the turn that is to be stopped is over, though no line says so. A child that cannot be stopped yet may be busy
 * while its status file still says idle: on a busy machine that takes 2 s. An Escape for the turn before may have hit the
 * prompt; then the child has forgotten it after some seconds.
 */
export function isAborted(state: SessionState): boolean {
  const { status, escapes, mayHaveStaleEscape, stalls } = state;
  const isForgotten = mayHaveStaleEscape && stalls >= MAX_UNTAKEN;
  return status?.status === "idle" && (escapes > 0 || isStoppable(state) || isForgotten);
}

/** Deletes what was typed before each Escape, once the turn is over. */
export function clearInputBox(step: ControlStep, escapes: number): void {
  if (escapes > 0) step.emit(write(BACKSPACE.repeat(escapes)));
}

/** Presses Escape after a character: the child's drawing of the character tells that it has read both. */
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
 * Whether the child may have lost the turn's prompt: an Escape that was meant for the turn before may have hit it. A child
 * that has the prompt in its queue puts it into its input box then, and one that runs the hooks of the prompt forgets it.
 * Either is idle from then on, and writes nothing down (2.1.330).
 */
export function isPromptLost(
  { mayHaveStaleEscape, hasPromptLine, phase, status }: SessionState,
): boolean {
  return mayHaveStaleEscape && !hasPromptLine && (phase === "entered" || phase === "working") &&
    status?.status === "idle";
}

/** Bounds the wait for a sign of a prompt that may be lost. */
export function boundLostPrompt(step: ControlStep): void {
  step.emit(isPromptLost(step.state) ? idleDeadline() : deadline("idle"));
}

/** Has another child take the lost prompts: nobody knows what this one has in its input box. */
export function resendLostPrompts(step: ControlStep): void {
  const { sent, taken, changes = {} } = step.state;
  step.update({ sent: [...taken, ...sent], taken: [] });
  endSession(step, { kind: "renewed", changes, lost: true });
}
