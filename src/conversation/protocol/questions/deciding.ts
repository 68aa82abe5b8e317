import { answerHook, decisionEffects } from "../answers.ts";
import { type Decision, failedRequest, withMode } from "./permission.ts";
import type { Question, ToolCall } from "./question.ts";
import { isHook, type Waiting } from "./told_calls.ts";
import type { Effect } from "../../control/effect.ts";
import type { HookPayload } from "../../control/input.ts";
import { awaitStoppedTurn } from "../../control/stop_turn.ts";
import type { SessionState } from "../../control/session_state.ts";
import { act, asOld, stay, type Step } from "../../control/step.ts";
import { lookDeadline } from "../../control/wait_times.ts";

/** Whether somebody else decides what the screen asks. */
export function isAsking({ openQuestions, waitingQuestions }: SessionState): boolean {
  return waitingQuestions.some(isPermission) ||
    [...openQuestions.values()].some(({ kind }) => kind === "permission");
}

/** Whether what waits is a permission. */
export function isPermission(waiting: Waiting): boolean {
  return isHook(waiting) && waiting.callback === undefined && !waiting.elicits;
}

/** Hands a decision to the hook that waits for it. */
export function decide(
  state: SessionState,
  { question: { hookId, call }, decision }: {
    readonly question: Extract<Question, { readonly kind: "permission" }>;
    readonly decision: Decision;
  },
): Step {
  const effects: readonly Effect[] = [
    answerHook(hookId, withChosenMode(state, decision)),
    // A turn that ends with it takes no notice of what was decided.
    ...decisionEffects(call?.id, decision.interrupt ? "withdrawn" : decision.outcome),
    ...(decision.mode === undefined ? [] : [{ type: "mode", mode: decision.mode } as const]),
  ];
  const decisive = decision.outcome === "accepted" ? withAllowed(state, call, decision) : state;
  // A subagent in the background has an abort controller of its own, others have that of the turn (2.1.332).
  const isApart = state.childQueue.runningTasks.has(call?.agentId ?? "");
  const next = decision.interrupt && !isApart ? asOld(decisive, awaitStoppedTurn) : stay(decisive);
  // What stands on the screen now, if anything, is another dialog.
  const isLeft = next.state.status?.status === "waiting" && !isAsking(next.state);
  return act(next.state, [...effects, ...next.effects, ...(isLeft ? [lookDeadline()] : [])]);
}

/**
 * The reply with the permission mode that the caller has chosen since the child was started. An answer that allows a call
 * can change the mode in the middle of a turn; nothing else can without a key that might answer a dialog.
 */
function withChosenMode(
  { changes }: SessionState,
  { outcome, mode, reply }: Decision,
): HookPayload {
  const chosen = changes?.permissionMode;
  return chosen === undefined || outcome !== "accepted" || mode !== undefined
    ? reply
    : withMode(reply, chosen);
}

function withAllowed(
  state: SessionState,
  allowed: ToolCall | undefined,
  { otherInput, mode }: Decision,
): SessionState {
  const other = otherInput === undefined ? {} : { allowedWith: JSON.stringify(otherInput) };
  const calls = state.printedCalls.map((call) =>
    call.id === allowed?.id ? { ...call, allowed: true, ...other } as const : call
  );
  const appliedMode = mode ?? state.changes?.permissionMode;
  return { ...state, printedCalls: calls, ...(appliedMode === undefined ? {} : { appliedMode }) };
}

/**
 * What is decided where nobody can.
 *
 * @param why in the words of `claude -p`, which has others where it would have asked nobody any more
 */
export function unanswerable(
  why = "Tool permission stream closed before response received",
): Decision {
  return failedRequest(`AbortError: ${why}`);
}
