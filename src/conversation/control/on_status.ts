import { isAsking } from "../protocol/questions/decide_permission.ts";
import { awaitEcho, beginTurn, isSubmitted, markReady } from "./begin_turn.ts";
import { changePhase, type ControlStep } from "./control_step.ts";
import { deadline } from "./effect.ts";
import { endSession, isWrittenAfterStop } from "./end_session.ts";
import { deliverNext } from "./deliver.ts";
import type { ChildStatus, SessionState } from "./session_state.ts";
import { endCarriedOutTurn, endHooklessTurn, endRecordedTurn, isStale } from "./end_turn.ts";
import { idleDeadline, lookDeadline, recordDeadline } from "./wait_times.ts";

/**
 * How long a stopped answer may take to get into the transcript once the child is idle, where the conversation goes on:
 * Claude Code delays lines by 0.1 s, and longer on a busy machine.
 */
const RECORDED_MS = 1500;
/** The same where there may be nothing to write down, and the user waits for this program to stop. */
const HURRIED_MS = 300;

/** Receives the child's status: idle, busy, or waiting for a person. */
export function onStatus(
  step: ControlStep,
  reported: ChildStatus & { readonly version?: string },
): void {
  const { status, waitingFor, updatedAt, version } = reported;
  if (version !== undefined) step.update({ version });
  if (isStale(step.state, reported)) return;
  step.update({
    // A later dialog is another one, which may ask the same.
    ...(status === "busy" ? { dialogKeys: 0, screen: undefined } : {}),
    status: {
      status,
      ...(waitingFor === undefined ? {} : { waitingFor }),
      ...(updatedAt === undefined ? {} : { updatedAt }),
    },
  });
  const { phase, ending } = step.state;
  if (phase === "ending") return;
  if (phase === "interrupting") {
    // The answer so far gets into the transcript a moment after the child is idle.
    const isHurried = status !== "busy" && !isWrittenAfterStop(ending);
    if (isHurried) step.emit(deadline("interrupt", HURRIED_MS));
    return;
  }
  if (phase === "aborting") {
    if (status !== "busy") step.emit(deadline("interrupt", RECORDED_MS));
    return;
  }
  if (status === "waiting") {
    onWaiting(step);
    return;
  }
  emitStatusTrace(step);
  if (status === "busy") onBusy(step);
  if (status === "idle") onIdle(step);
}

function emitStatusTrace(step: ControlStep): void {
  const { status, waitingFor } = step.state.status ?? {};
  const reason = waitingFor === undefined ? "" : ` (${waitingFor})`;
  step.emit({ type: "trace", text: `status ${status}${reason}` });
}

function onBusy(step: ControlStep): void {
  // A settling child is still busy: only idle, or another hook of the turn, decides.
  if (step.state.phase === "settling" || !isOnStdin(step.state)) {
    markReady(step);
    step.emit(deadline("idle"));
    return;
  }
  beginTurn(step);
  // A permission that a hook denied made the child wait for a moment: no dialog is left to look at.
  step.emit(deadline("idle"), deadline("look"));
}

function onIdle(step: ControlStep): void {
  const { phase } = step.state;
  if (phase === "settling") {
    if (!endRecordedTurn(step)) step.emit(recordDeadline(step.state));
    return;
  }
  if (endCarriedOutTurn(step) || endHooklessTurn(step)) return;
  const wasSubmitted = isSubmitted(step.state);
  // The input box is there, so no start-up dialog is in the way.
  markReady(step);
  if (phase === "starting" && step.state.sent.length === 0) {
    changePhase(step, { phase: "resting" });
  }
  step.emit(deadline("look"));
  // The paste may have been looked for while a dialog stood in front of it.
  if (phase === "pasted") awaitEcho(step);
  deliverNext(step);
  if (wasSubmitted) step.emit(idleDeadline());
}

function onWaiting(step: ControlStep): void {
  const { phase, failure } = step.state;
  // A failed request may put a menu on the screen, as a rate limit does: its choice does not matter any more.
  if (phase === "settling" && failure !== undefined) {
    endSession(step, { kind: "failed", failure });
    return;
  }
  if (endHooklessTurn(step)) return;
  emitStatusTrace(step);
  step.emit(deadline("idle"));
  if (!isAsking(step.state)) step.emit(lookDeadline());
}

/** Records when the hook ran that has announced the end of a turn; a status before that may say that the child is idle. */
export function onAnnounced(step: ControlStep, ranAt: number): void {
  step.update({ announcedAt: ranAt });
  const { status } = step.state;
  if (status !== undefined && status.status !== "busy") onStatus(step, status);
}

/** Whether the child finds its prompt on its stdin: then a busy child is busy with that. */
function isOnStdin({ sent, taken }: SessionState): boolean {
  return [...sent, ...taken].some(({ way }) => way === "stdin");
}
