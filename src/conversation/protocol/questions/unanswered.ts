import { answerHook, recordDecision } from "../answers.ts";
import { buildServerQuestion, reportServerError, SERVER_GONE } from "./caller_servers.ts";
import { decide, unanswerableDecision } from "./decide_permission.ts";
import { NOBODY_ASKED } from "./elicitation.ts";
import { answerWithoutCaller } from "./hook_callbacks.ts";
import { isAskedElsewhere } from "./prompt_tool.ts";
import type { Question } from "./question.ts";
import { isHook, type Waiting } from "./printed_calls.ts";
import type { ControlStep } from "../../control/control_step.ts";

/** Answers all questions instead of the caller, who has disconnected. */
export function onCallerGone(step: ControlStep): void {
  // A prompt tool still answers, unless it belongs to the caller.
  if (isAskedElsewhere(step.state)) return;
  const { openQuestions, waitingQuestions } = step.state;
  step.update({ openQuestions: new Map(), waitingQuestions: [] });
  for (const question of openQuestions.values()) answerInPlace(step, question);
  for (const waiting of waitingQuestions) answerWaiting(step, waiting);
}

function answerInPlace(step: ControlStep, question: Question): void {
  switch (question.kind) {
    case "permission":
      return decide(step, { question, decision: unanswerableDecision() });
    case "callback":
      return answerWithoutCaller(step, question);
    case "elicitation":
      return step.emit(answerHook(question.hookId, NOBODY_ASKED));
    case "server":
      return step.emit(...reportServerError(question, SERVER_GONE));
  }
}

function answerWaiting(step: ControlStep, waiting: Waiting): void {
  if (!isHook(waiting)) {
    step.emit(...reportServerError(buildServerQuestion(waiting), SERVER_GONE));
    return;
  }
  const { hookId, callback, payload, elicits } = waiting;
  if (callback !== undefined) {
    answerWithoutCaller(step, { hookId, callback, toolUseId: payload["tool_use_id"] });
  } else {
    step.emit(answerHook(hookId, elicits ? NOBODY_ASKED : unanswerableDecision().reply));
  }
}

/**
 * Withdraws all questions to the caller, including deferred ones. Their hooks get no answer here: Claude Code must
 * first learn that the turn is stopped, then `refuseWithdrawn` answers.
 *
 * @param options.keepsPrompt whether the caller's hooks of a prompt are kept, because the prompt belongs to the next
 * turn
 */
export function withdraw(
  step: ControlStep,
  { keepsPrompt = () => false }: { readonly keepsPrompt?: (prompt: unknown) => boolean } = {},
): void {
  const { openQuestions, waitingQuestions, withdrawnHooks, options } = step.state;
  const isKept = (each: Question | Waiting) =>
    "callback" in each && each.callback?.event === "UserPromptSubmit" &&
    keepsPrompt("payload" in each ? each.payload["prompt"] : each.prompt);
  const kept = new Map<string, Question>();
  const withdrawn = [...withdrawnHooks];
  for (const [id, question] of openQuestions) {
    // The child itself cancels its request to a server of the caller.
    if (question.kind === "server" || isKept(question)) {
      kept.set(id, question);
      continue;
    }
    // A prompt tool is a separate program and gets no message of the control protocol.
    const isTool = question.kind === "permission" && options.caller?.promptTool !== undefined;
    if (!isTool) {
      step.emit({ type: "frame", frame: { type: "control_cancel_request", request_id: id } });
    }
    if (question.kind === "permission") recordDecision(step, question.call?.id, "withdrawn");
    withdrawn.push(question.hookId);
  }
  for (const waiting of waitingQuestions) {
    if (isKept(waiting)) continue;
    if (isHook(waiting)) withdrawn.push(waiting.hookId);
    else {
      step.emit(
        ...reportServerError(
          buildServerQuestion(waiting),
          "The turn was over before the caller was asked",
        ),
      );
    }
  }
  step.update({
    openQuestions: kept,
    waitingQuestions: waitingQuestions.filter(isKept),
    withdrawnHooks: withdrawn,
  });
}
