import { answerHook, decisionEffects } from "../answers.ts";
import { SERVER_GONE, serverError, serverQuestion } from "./bridging.ts";
import { decide, unanswerable } from "./deciding.ts";
import { NOBODY_ASKED } from "./elicitation.ts";
import { unheard } from "./hook_callbacks.ts";
import { isAskedElsewhere } from "./prompt_tool.ts";
import type { Question } from "./question.ts";
import { isHook } from "./told_calls.ts";
import type { Effect } from "../../control/effect.ts";
import type { SessionState } from "../../control/session_state.ts";
import { act, andThen, stay, type Step } from "../../control/step.ts";

/** Whoever could answer has gone. */
export function onCallerGone(before: SessionState): Step {
  // A tool answers all the same, unless it is one of the caller's.
  if (isAskedElsewhere(before)) return stay(before);
  let step: Step = stay({ ...before, openQuestions: new Map(), waitingQuestions: [] });
  for (const question of before.openQuestions.values()) {
    step = andThen(
      step,
      (state) =>
        question.kind === "permission"
          ? decide(state, { question, decision: unanswerable() })
          : act(
            state,
            question.kind === "callback"
              ? unheard(question)
              : question.kind === "elicitation"
              ? [answerHook(question.hookId, NOBODY_ASKED)]
              : serverError(question, SERVER_GONE),
          ),
    );
  }
  for (const waiting of before.waitingQuestions) {
    step = andThen(step, (state) => {
      if (!isHook(waiting)) return act(state, serverError(serverQuestion(waiting), SERVER_GONE));
      const { hookId, callback, payload, elicits } = waiting;
      if (callback !== undefined) {
        return act(state, unheard({ hookId, callback, toolUseId: payload["tool_use_id"] }));
      }
      const reply = elicits ? NOBODY_ASKED : unanswerable().reply;
      return act(state, [answerHook(hookId, reply)]);
    });
  }
  return step;
}

/**
 * Withdraws all questions to the caller, asked or not yet. The hooks behind them get no answer here: Claude Code must
 * first learn that the turn is stopped, then `refuseWithdrawn` answers.
 *
 * @param options.keepsPrompts whether the caller's hooks of a prompt are kept: that is the next turn's
 */
export function withdraw(
  state: SessionState,
  { keepsPrompts = false }: { readonly keepsPrompts?: boolean } = {},
): Step {
  const isKept = (each: Question | SessionState["waitingQuestions"][number]) =>
    keepsPrompts && "callback" in each && each.callback?.event === "UserPromptSubmit";
  const effects: Effect[] = [];
  const withdrawn = [...state.withdrawnHooks];
  // The child itself tells a server of the caller which request it gives up.
  const asked = new Map(
    [...state.openQuestions].filter(([, question]) =>
      question.kind === "server" || isKept(question)
    ),
  );
  for (const [id, question] of state.openQuestions) {
    if (question.kind === "server" || isKept(question)) continue;
    // A prompt tool is a program of its own and gets no message of the control protocol.
    const isTool = question.kind === "permission" && state.options.caller?.promptTool !== undefined;
    if (!isTool) effects.push({ type: "withdraw", id });
    if (question.kind === "permission") {
      effects.push(...decisionEffects(question.call?.id, "withdrawn"));
    }
    withdrawn.push(question.hookId);
  }
  for (const waiting of state.waitingQuestions) {
    if (isKept(waiting)) continue;
    if (isHook(waiting)) withdrawn.push(waiting.hookId);
    else {
      effects.push(
        ...serverError(serverQuestion(waiting), "The turn was over before the caller was asked"),
      );
    }
  }
  return act({
    ...state,
    openQuestions: asked,
    waitingQuestions: state.waitingQuestions.filter(isKept),
    withdrawnHooks: withdrawn,
  }, effects);
}
