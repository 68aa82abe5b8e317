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
 * How long the transcript may take to hold a stopped answer after the child is idle, if the conversation continues, in
 * milliseconds. Claude Code delays lines by 0.1 s, and longer on a busy machine.
 */
const RECORDED_MS = 1500;
/** The same limit if there may be nothing to write, and the user waits for this program to stop. */
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
    // A later dialog is a different one, even if its text is equal.
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
    // Claude Code writes the answer so far to the transcript a moment after the child is idle.
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
  // A child that settles is still busy. Only the idle status, or another hook of the turn, decides.
  if (step.state.phase === "settling" || !isOnStdin(step.state)) {
    markReady(step);
    step.emit(deadline("idle"));
    return;
  }
  beginTurn(step);
  // A permission that a hook denied made the child wait for a moment. No dialog is left on the screen.
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
  // The input box is visible, so no start-up dialog covers it.
  markReady(step);
  if (phase === "starting" && step.state.sent.length === 0) {
    changePhase(step, { phase: "resting" });
  }
  step.emit(deadline("look"));
  // A dialog may have covered the paste when it was looked for.
  if (phase === "pasted") awaitEcho(step);
  deliverNext(step);
  if (wasSubmitted) step.emit(idleDeadline());
}

function onWaiting(step: ControlStep): void {
  const { phase, failure } = step.state;
  // A failed request may put a menu on the screen, for example after a rate limit. Its choice no longer matters.
  if (phase === "settling" && failure !== undefined) {
    endSession(step, { kind: "failed", failure });
    return;
  }
  if (endHooklessTurn(step)) return;
  emitStatusTrace(step);
  step.emit(deadline("idle"));
  if (!isAsking(step.state)) step.emit(lookDeadline());
}

/** Records when the hook ran that has announced the end of a turn. An idle status from before that does not count. */
export function onAnnounced(step: ControlStep, ranAt: number): void {
  step.update({ announcedAt: ranAt });
  const { status } = step.state;
  if (status !== undefined && status.status !== "busy") onStatus(step, status);
}

/** Whether the child reads its prompt from its stdin. Then a busy child is working on that prompt. */
function isOnStdin({ sent, taken }: SessionState): boolean {
  return [...sent, ...taken].some(({ way }) => way === "stdin");
}
