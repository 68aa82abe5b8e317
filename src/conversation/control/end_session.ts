import { changePhase, type ControlStep } from "./control_step.ts";
import { deadline, type Effect, type Ending, write } from "./effect.ts";
import { hasOtherStopHooks } from "./follow_ups.ts";
import { DEADLINE_NAMES } from "./input.ts";
import { isOutputWritten } from "../protocol/structured_output.ts";
import { isLast, type SessionState } from "./session_state.ts";

/**
 * How long the child may take after Escape to stop its work and write down what there is of it: measured 0.2 s (2.1.330),
 * and 0.7 s on a busy machine.
 */
export const INTERRUPT_MS = 1000;
/** The key with which a person stops a turn. */
export const ESCAPE = "\x1b";
/**
 * A character that is typed before Escape. Claude Code puts a prompt that is stopped before its first words back into an
 * empty input box, and does not write down that it was stopped: the model never learns of it.
 */
export const KEPT_OUT = ".";
/**
 * How long the child may take to go after SIGTERM when this program was told to stop. 2.1.330 takes up to 1.6 s with tasks
 * in the background; all that a SIGKILL loses then is the cost.
 */
const HURRIED_EXIT_MS = 1500;
/**
 * When a child that is still there gets SIGTERM again: on a busy machine 2.1.197 ignored the first one, once in some
 * 1,000 runs. A child that is ending ignores another one.
 */
const REMINDER_MS = 1000;
/**
 * How much longer the child may take if it has not written down the turn that it has answered. On a starved machine it has
 * taken more than 6 s, and what a SIGKILL loses is missing in every later run of the session.
 */
const UNWRITTEN_MS = 30_000;
/** How long the child may take to go after SIGKILL. */
const KILLED_MS = 2000;
/** After so many signals the child is given up: it hangs in the kernel. */
const MAX_KILLS = 4;

/** Ends a turn under way as a person would: the transcript gets its text so far, and that it was stopped. */
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
 * Whether the transcript says that a turn was stopped which had answered nothing yet: `claude -p` writes that down after
 * SIGINT (2.1.330), and keeps only the prompt after any other signal.
 */
export function isWrittenAfterStop(ending: Ending | undefined): boolean {
  return ending?.kind !== "interrupted" || ending.signal === "SIGINT";
}

/** Fixes the ending and tells the child to go. */
export function endSession(step: ControlStep, ending: Ending): void {
  step.emit({ type: "trace", text: `ending: ${ending.kind}` }, ...clearedDeadlines());
  changePhase(step, { phase: "ending", ending });
  killChild(step, "SIGTERM");
}

/** Endings after which the child's tools go on, as `claude -p` leaves them running. */
const LEAVING_TOOLS: readonly (Ending["kind"] | undefined)[] = [
  ...["answered", "failed", "max-turns", "output-tries", "blocked", "closed", "renewed"] as const,
];

/** Signals the child; its tools get the signal too, unless the turn has ended by itself. */
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
    // A negative rest: no reminder follows.
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

/** Reminds the child, which did not go in time, or kills it. */
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

/** How much longer the child may take to go, in milliseconds. */
function leftMs(state: SessionState): number {
  return state.exitLeftMs + (isKept(state) ? UNWRITTEN_MS : 0);
}

/** Clears all deadlines but that of the child's exit. */
export function clearedDeadlines(): readonly Effect[] {
  return DEADLINE_NAMES.filter((name) => name !== "exit").map((name) => deadline(name));
}

/** The ending that a hook has announced, once the child is idle and its transcript complete. */
export function settledEnding({ stop, failure, limited }: SessionState): Ending | undefined {
  if (stop !== undefined) return { kind: "answered", stop };
  if (failure !== undefined) return { kind: "failed", failure };
  return limited === undefined ? undefined : { kind: limited };
}

/** How long a child that was told to go may be kept until its transcript holds the turn. */
const KEPT_MS = 1400;

/** Keeps the child, which is about to go, until its transcript holds the turn that its Stop hook has ended. */
export function onSessionEnd(step: ControlStep, id: string): void {
  if (isKept(step.state)) {
    step.update({ endHook: id });
    step.emit(deadline("record", KEPT_MS));
    return;
  }
  step.emit({ type: "answer", id });
  emitOutputComplete(step);
}

/** Lets a kept child go, once its transcript holds the turn or it has been kept long enough. */
export function answerEndHook(step: ControlStep, { inAnyCase = false } = {}): void {
  const { endHook: id } = step.state;
  if (id === undefined || (isKept(step.state) && !inAnyCase)) return;
  step.update({ endHook: undefined });
  step.emit(deadline("record"), { type: "answer", id });
  if (!inAnyCase) emitOutputComplete(step);
}

/** Endings at which a child that is told to go has nothing more to do. */
const AT_REST: readonly Ending["kind"][] = [
  ...["answered", "failed", "max-turns", "budget", "output-tries", "blocked", "closed"] as const,
];

/** Says that only the child's exit is outstanding: Claude Code runs its SessionEnd hooks after its last line (2.1.330). */
function emitOutputComplete(step: ControlStep): void {
  const { phase, ending } = step.state;
  if (phase !== "ending" || !AT_REST.includes(ending.kind) || !isLast(step.state)) return;
  if (ending.kind === "answered" && ending.unfinished !== undefined) return;
  step.update({ isOutputComplete: true });
}

/** Whether the child has to live on: on a busy machine 2.1.197 wrote the prompt after the answer. */
function isKept(state: SessionState): boolean {
  return state.phase === "ending" && state.ending.kind === "answered" &&
    !(state.hasPromptLine && isWritten(state, state.ending));
}

/** How much later than its child's end a transcript may be complete: 0.15 s were seen after Stop, none after a clean exit. */
const REST_MS = 2000;

/** Finishes the session of a child that is gone once its transcript holds the answer that its Stop hook announced. */
export function awaitTranscript(step: ControlStep): void {
  const { phase, ending, exit } = step.state;
  if (ending === undefined || isWritten(step.state, ending)) {
    finishSession(step);
  } else if (phase === "reading" && exit !== undefined) {
    step.emit(deadline("record", REST_MS));
  } else {
    finishSession(step);
  }
}

/** Ends the session with what is known. */
export function finishSession(step: ControlStep): void {
  const { ending, exit } = step.state;
  if (ending === undefined) return;
  changePhase(step, { phase: "ended", ending });
  step.emit({ type: "end", ending, ...(exit === undefined ? {} : { exit: exit.exit }) });
}

/**
 * Whether the transcript holds what the ending announced. Without a Stop there is nothing to wait for, and tasks in the
 * background that were waited for end long after the answer is written.
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

/** The ending that nothing can change any more, though the child is not idle yet. */
export function announcedEnding(state: SessionState): Ending | undefined {
  return state.phase === "settling" && !hasOtherStopHooks(state) ? settledEnding(state) : undefined;
}

/**
 * Whether the `last_assistant_message` of a hook's payload is a text of the transcript, or ends in it: an answer of
 * several blocks has a line for each, and Claude Code trims what it announces.
 */
export function announces(message: string, text: string): boolean {
  return text.trim() !== "" && message.trim().endsWith(text.trim());
}
