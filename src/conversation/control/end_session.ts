import { changePhase, type ControlStep } from "./control_step.ts";
import { deadline, type Effect, type Ending, write } from "./effect.ts";
import { hasOtherStopHooks } from "./follow_ups.ts";
import { DEADLINE_NAMES } from "./input.ts";
import { isOutputWritten } from "../protocol/structured_output.ts";
import { isLast, type SessionState } from "./session_state.ts";

/**
 * How long the child may take after Escape to stop its work and write the text so far, in milliseconds: measured 0.2 s
 * (2.1.330), and 0.7 s on a busy machine.
 */
export const INTERRUPT_MS = 1000;
/** The key with which a person stops a turn. */
export const ESCAPE = "\x1b";
/**
 * A character that is typed before Escape. If a prompt is stopped before the model's first words, Claude Code puts it
 * back into an empty input box and does not record the stop, so the model never learns of it.
 */
export const KEPT_OUT = ".";
/**
 * How long the child may take to exit after SIGTERM if this program was asked to stop, in milliseconds. 2.1.330 takes
 * up to 1.6 s with background tasks. A SIGKILL at that time loses only the cost.
 */
const HURRIED_EXIT_MS = 1500;
/**
 * When a child that still runs gets SIGTERM again, in milliseconds. On a busy machine, 2.1.197 ignored the first
 * SIGTERM once in some 1,000 runs. A child that is already ending ignores the second one.
 */
const REMINDER_MS = 1000;
/**
 * The additional time to exit for a child that has not written its answered turn, in milliseconds. On a starved
 * machine, a child has taken more than 6 s. A SIGKILL would lose the turn for every later run of the session.
 */
const UNWRITTEN_MS = 30_000;
/** How long the child may take to exit after SIGKILL, in milliseconds. */
const KILLED_MS = 2000;
/** The number of signals after which the child is abandoned, because it hangs in the kernel. */
const MAX_KILLS = 4;

/**
 * Ends the current turn as a person would: the transcript gets the text so far, and a line that the turn was stopped.
 */
export function interruptChild(step: ControlStep, ending: Ending): void {
  const { phase, status } = step.state;
  if (phase !== "working" || status?.status === "idle") {
    endSession(step, ending);
    return;
  }
  changePhase(step, { phase: "interrupting", ending });
  step.emit(
    { type: "note-tools" },
    ...clearedDeadlines(),
    write(isWrittenAfterStop(ending) ? `${KEPT_OUT}${ESCAPE}` : ESCAPE),
    deadline("interrupt", INTERRUPT_MS),
    { type: "trace", text: `${ending.kind}: Escape pressed` },
  );
}

/**
 * Whether the transcript records the stop of a turn that had no answer yet. `claude -p` records it after SIGINT
 * (2.1.330), and keeps only the prompt after any other signal.
 */
export function isWrittenAfterStop(ending: Ending | undefined): boolean {
  return ending?.kind !== "interrupted" || ending.signal === "SIGINT";
}

/** Sets the ending and asks the child to exit. */
export function endSession(step: ControlStep, ending: Ending): void {
  step.emit({ type: "trace", text: `ending: ${ending.kind}` }, ...clearedDeadlines());
  changePhase(step, { phase: "ending", ending });
  killChild(step, "SIGTERM");
}

/** Endings after which the child's tools continue, because `claude -p` leaves them running. */
const LEAVING_TOOLS: readonly (Ending["kind"] | undefined)[] = [
  ...["answered", "failed", "max-turns", "output-tries", "blocked", "closed", "renewed"] as const,
];

/** Signals the child. Its tools also get the signal, unless the turn has ended without a stop. */
export function killChild(step: ControlStep, signal: "SIGTERM" | "SIGKILL"): void {
  const { kills, ending, options: { exitTimeoutMs } } = step.state;
  if (kills >= MAX_KILLS) {
    finishSession(step);
    return;
  }
  const isUnfinished = ending?.kind === "answered" && ending.unfinished !== undefined;
  const tree = signal === "SIGKILL" || isUnfinished || !LEAVING_TOOLS.includes(ending?.kind);
  step.emit({ type: "kill", signal, tree });
  if (signal === "SIGKILL") {
    // The negative value means that no reminder follows.
    step.update({ kills: kills + 1, exitLeftMs: -UNWRITTEN_MS, isForced: true });
    step.emit(deadline("exit", KILLED_MS));
    return;
  }
  const exitLeftMs = ending?.kind === "interrupted"
    ? Math.min(exitTimeoutMs, HURRIED_EXIT_MS)
    : exitTimeoutMs;
  step.update({ kills: kills + 1, exitLeftMs });
  awaitExit(step);
}

/** Signals the child again because it did not exit in time, or kills it. */
export function remindChild(step: ControlStep): void {
  if (leftMs(step.state) <= 0) {
    killChild(step, "SIGKILL");
    return;
  }
  step.emit(
    { type: "trace", text: "still there: SIGTERM again" },
    { type: "kill", signal: "SIGTERM", tree: false },
  );
  awaitExit(step);
}

function awaitExit(step: ControlStep): void {
  const afterMs = Math.min(REMINDER_MS, leftMs(step.state));
  step.update({ exitLeftMs: step.state.exitLeftMs - afterMs });
  step.emit(deadline("exit", afterMs));
}

/** How much longer the child may take to exit, in milliseconds. */
function leftMs(state: SessionState): number {
  return state.exitLeftMs + (isKept(state) ? UNWRITTEN_MS : 0);
}

/** Clears all deadlines except the one for the child's exit. */
export function clearedDeadlines(): readonly Effect[] {
  return DEADLINE_NAMES.filter((name) => name !== "exit").map((name) => deadline(name));
}

/** The ending that a hook has announced, once the child is idle and its transcript complete. */
export function settledEnding({ stop, failure, limited }: SessionState): Ending | undefined {
  if (stop !== undefined) return { kind: "answered", stop };
  if (failure !== undefined) return { kind: "failed", failure };
  return limited === undefined ? undefined : { kind: limited };
}

/** How long the exit of a child may be delayed until its transcript holds the turn, in milliseconds. */
const KEPT_MS = 1400;

/** Delays the exit of the child until its transcript holds the turn that its Stop hook has ended. */
export function onSessionEnd(step: ControlStep, id: string): void {
  if (isKept(step.state)) {
    step.update({ endHook: id });
    step.emit(deadline("record", KEPT_MS));
    return;
  }
  step.emit({ type: "answer", id });
  emitOutputComplete(step);
}

/** Lets a delayed child exit, once its transcript holds the turn or the delay has expired. */
export function answerEndHook(step: ControlStep, { inAnyCase = false } = {}): void {
  const { endHook: id } = step.state;
  if (id === undefined || (isKept(step.state) && !inAnyCase)) return;
  step.update({ endHook: undefined });
  step.emit(deadline("record"), { type: "answer", id });
  if (!inAnyCase) emitOutputComplete(step);
}

/** Endings at which a child that was asked to exit has nothing left to do. */
const AT_REST: readonly Ending["kind"][] = [
  ...["answered", "failed", "max-turns", "budget", "output-tries", "blocked", "closed"] as const,
];

/**
 * Reports that only the child's exit is outstanding. Claude Code runs its SessionEnd hooks after its last line
 * (2.1.330).
 */
function emitOutputComplete(step: ControlStep): void {
  const { phase, ending } = step.state;
  if (phase !== "ending" || !AT_REST.includes(ending.kind) || !isLast(step.state)) return;
  if (ending.kind === "answered" && ending.unfinished !== undefined) return;
  step.update({ isOutputComplete: true });
}

/** Whether the child's exit has to be delayed. On a busy machine, 2.1.197 wrote the prompt after the answer. */
function isKept(state: SessionState): boolean {
  return state.phase === "ending" && state.ending.kind === "answered" &&
    !(state.hasPromptLine && isWritten(state, state.ending));
}

/**
 * How long after its child's end a transcript may become complete, in milliseconds. The maximum seen was 0.15 s after
 * Stop, and 0 after a clean exit.
 */
const REST_MS = 2000;

/**
 * Waits until the transcript of an ended child holds the answer that the Stop hook announced, then finishes the
 * session.
 */
export function awaitTranscript(step: ControlStep): void {
  const { ending } = step.state;
  if (ending === undefined || isWritten(step.state, ending)) finishSession(step);
  else step.emit(deadline("record", REST_MS));
}

/** Ends the session with the known facts. */
export function finishSession(step: ControlStep): void {
  const { ending, exit } = step.state;
  if (ending === undefined) return;
  changePhase(step, { phase: "ended", ending });
  step.emit({ type: "end", ending, ...(exit === undefined ? {} : { exit: exit.exit }) });
}

/**
 * Whether the transcript holds the answer that the ending announced. Without a Stop hook there is none to wait for.
 * Background tasks end long after the answer is written.
 */
function isWritten(state: SessionState, ending: Ending): boolean {
  if (ending.kind !== "answered" || ending.unfinished !== undefined) return true;
  if (!isOutputWritten(state)) return false;
  if (state.isCarriedOut) return true;
  const message = ending.stop["last_assistant_message"];
  return typeof message === "string" && message.trim() !== ""
    ? announces(message, state.answer)
    : state.hasAnswerLine || state.isComplete;
}

/** The ending that can no longer change, although the child is not idle yet. */
export function announcedEnding(state: SessionState): Ending | undefined {
  return state.phase === "settling" && !hasOtherStopHooks(state) ? settledEnding(state) : undefined;
}

/**
 * Whether the transcript's text is, or ends with, the `last_assistant_message` of a hook's payload. An answer of
 * several blocks has one line for each block, and Claude Code trims the message.
 */
export function announces(message: string, text: string): boolean {
  return text.trim() !== "" && message.trim().endsWith(text.trim());
}
