import { answerHook, recordDecision } from "../answers.ts";
import { addMode, type Decision, failedRequest } from "./permission.ts";
import type { Question, ToolCall } from "./question.ts";
import { isHook, type Waiting } from "./printed_calls.ts";
import type { HookPayload } from "../../control/input.ts";
import { awaitStoppedTurn } from "../../control/stop_turn.ts";
import type { SessionState } from "../../control/session_state.ts";
import type { ControlStep } from "../../control/control_step.ts";
import { lookDeadline } from "../../control/wait_times.ts";

/** Whether the caller is being asked for a permission. Then this program must not answer the dialog on the screen. */
export function isAsking({ openQuestions, waitingQuestions }: SessionState): boolean {
  return waitingQuestions.some(isPermission) ||
    [...openQuestions.values()].some(({ kind }) => kind === "permission");
}

/** Whether a deferred question is a permission. */
export function isPermission(waiting: Waiting): boolean {
  return isHook(waiting) && waiting.callback === undefined && !waiting.elicits;
}

/** Answers a permission's hook with the decision. */
export function decide(
  step: ControlStep,
  { question: { hookId, call }, decision }: {
    readonly question: Extract<Question, { readonly kind: "permission" }>;
    readonly decision: Decision;
  },
): void {
  const { outcome, interrupt, mode } = decision;
  step.emit(answerHook(hookId, addChosenMode(step.state, decision)));
  // If the decision ends the turn, it has no effect on the call.
  recordDecision(step, call?.id, interrupt ? "withdrawn" : outcome);
  if (mode !== undefined) step.emit({ type: "mode", mode });
  if (outcome === "accepted") recordAllowed(step, call, decision);
  // A background subagent has its own abort controller, all others use that of the turn (2.1.332).
  const isApart = step.state.childQueue.runningTasks.has(call?.agentId ?? "");
  if (interrupt && !isApart) awaitStoppedTurn(step);
  // A dialog that is still on the screen is a different one.
  if (step.state.status?.status === "waiting" && !isAsking(step.state)) step.emit(lookDeadline());
}

/**
 * The reply with the permission mode that the caller has chosen since the child was started. During a turn, only an
 * answer that allows a call can change the mode without a key, which might answer a dialog.
 */
function addChosenMode(
  { changes }: SessionState,
  { outcome, mode, reply }: Decision,
): HookPayload {
  const chosen = changes?.permissionMode;
  return chosen === undefined || outcome !== "accepted" || mode !== undefined
    ? reply
    : addMode(reply, chosen);
}

function recordAllowed(
  step: ControlStep,
  allowed: ToolCall | undefined,
  { otherInput, mode }: Decision,
): void {
  const { printedCalls, changes } = step.state;
  const other = otherInput === undefined ? {} : { allowedWith: JSON.stringify(otherInput) };
  const calls = printedCalls.map((call) =>
    call.id === allowed?.id ? { ...call, allowed: true, ...other } as const : call
  );
  step.update({ printedCalls: calls });
  const appliedMode = mode ?? changes?.permissionMode;
  if (appliedMode !== undefined) step.update({ appliedMode });
}

/**
 * The decision if the caller can no longer be asked.
 *
 * @param why the reason in the words of `claude -p`
 */
export function unanswerableDecision(
  why = "Tool permission stream closed before response received",
): Decision {
  return failedRequest(`AbortError: ${why}`);
}
