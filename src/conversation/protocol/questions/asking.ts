import { answerHook } from "../answers.ts";
import {
  noted,
  PROBE,
  SERVER_GONE,
  serverAnswer,
  serverError,
  serverQuestion,
  unknownMethod,
  withCancelled,
  withFailure,
} from "./bridging.ts";
import { decide, isPermission, unanswerable } from "./deciding.ts";
import { elicitation, elicited, NOBODY_ASKED } from "./elicitation.ts";
import {
  callbackAnswer,
  callbackQuestion,
  misnamedPrompt,
  unheard,
  untilDue,
  withHookAsks,
} from "./hook_callbacks.ts";
import { decisionOf, failedRequest, permissionQuestion } from "./permission.ts";
import {
  isAskedElsewhere,
  notePromptTools,
  ownPromptDecision,
  promptCall,
  promptDecision,
  toolsBesidePrompt,
} from "./prompt_tool.ts";
import type { PromptTool } from "../caller_options.ts";
import { type Question, type WaitingHook, type WaitingMessage, without } from "./question.ts";
import { withOwnServer } from "../requests/mcp_requests.ts";
import { callOf, isHook, isTold, type Waiting, withTold } from "./told_calls.ts";
import { endSession } from "../../control/end_session.ts";
import type { HookPayload } from "../../control/input.ts";
import type { SessionState } from "../../control/session_state.ts";
import type { ControlStep } from "../../control/control_step.ts";
import { deadline } from "../../control/effect.ts";
import type { JsonObject } from "../../../json_object.ts";
import type { CallerQuestion, ControlAnswer } from "../../../claude/wire/control.ts";

/**
 * How long the line that a question is about may take to be read: the child delays lines by 0.1 s, also while it waits.
 */
const PRINTED_MS = 2000;

/** Asks the caller once the frames of the question's subject have been printed. */
export function askOncePrinted(
  step: ControlStep,
  { asking, at }: { readonly asking: Waiting; readonly at: number },
): void {
  step.update({ waitingQuestions: [...step.state.waitingQuestions, asking] });
  askPrinted(step, at);
  if (!step.state.waitingQuestions.includes(asking)) return;
  step.emit(deadline("told", PRINTED_MS));
  if (isHook(asking)) step.emit(deadline("look"));
}

/** Asks the questions whose subjects have been printed: the frames of all lines so far have been. */
export function onLinesPrinted(step: ControlStep, at: number): void {
  step.replace(withTold(step.state));
  askPrinted(step, at);
}

function askPrinted(step: ControlStep, at: number): void {
  askReady(step, { at, isReady: isTold });
}

/** Asks all questions that wait: their subjects are not printed any more. */
export function askRemaining(step: ControlStep, at: number): void {
  step.replace(withTold(step.state));
  askReady(step, { at, isReady: () => true });
}

function askReady(
  step: ControlStep,
  { at, isReady }: {
    readonly at: number;
    readonly isReady: (state: SessionState, waiting: Waiting) => boolean;
  },
): void {
  const { waitingQuestions: all } = step.state;
  if (all.length === 0) return;
  step.update({ waitingQuestions: [] });
  // Hooks about a permission come after it.
  const permissions = all.filter(isPermission);
  const others = all.filter((waiting) => !isPermission(waiting));
  for (const waiting of [...permissions, ...others]) {
    if (!isReady(step.state, waiting)) {
      step.update({ waitingQuestions: [...step.state.waitingQuestions, waiting] });
    } else if (isHook(waiting)) {
      askForHook(step, { hook: waiting, at });
    } else {
      askServer(step, waiting);
    }
  }
  if (step.state.waitingQuestions.length === 0) step.emit(deadline("told"));
}

function askForHook(
  step: ControlStep,
  { hook, at }: { readonly hook: WaitingHook; readonly at: number },
): void {
  const { hookId, callback, elicits } = hook;
  const { isOpen } = step.state;
  if (elicits) {
    if (isOpen) {
      ask(step, { question: { kind: "elicitation", hookId }, request: elicitation(hook.payload) });
    } else {
      step.emit(answerHook(hookId, NOBODY_ASKED));
    }
    return;
  }
  const payload = withOwnServer(step.state, hook.payload);
  if (callback === undefined) {
    askForPermission(step, { hookId, payload });
  } else if (isOpen) {
    ask(step, callbackQuestion(step.state, { callback, payload, hookId, at }));
    step.emit(...untilDue(step.state, at));
  } else {
    step.emit(...unheard({ hookId, callback, toolUseId: payload["tool_use_id"] }));
  }
}

function askForPermission(
  step: ControlStep,
  { hookId, payload }: Pick<WaitingHook, "hookId" | "payload">,
): void {
  const { isOpen, printedCalls, options: { caller } } = step.state;
  const call = callOf(step.state, payload);
  const { tool_name: tool, tool_input: input } = payload;
  const question = { kind: "permission", hookId, tool, input, call } as const;
  step.update({
    printedCalls: printedCalls.map((each) =>
      each === call ? { ...each, askedWith: JSON.stringify(input) } : each
    ),
  });
  if (caller?.promptTool !== undefined) {
    askPromptTool(step, { promptTool: caller.promptTool, question, payload });
  } else if (isOpen && !caller?.isAbsent) {
    ask(step, { question, request: permissionQuestion(payload, { call }) });
  } else {
    decide(step, { question, decision: unanswerable("Stream closed") });
  }
}

/** Has a tool decide. Without it the session ends, as in `claude -p`: with an answer the child would ask the model. */
function askPromptTool(
  step: ControlStep,
  { promptTool, question, payload }: {
    readonly promptTool: PromptTool;
    readonly question: Extract<Question, { readonly kind: "permission" }>;
    readonly payload: HookPayload;
  },
): void {
  if (promptTool.ownServer !== undefined && !step.state.isOpen) {
    decide(step, { question, decision: unanswerable("Stream closed") });
    return;
  }
  const id = nextId(step.state);
  const made = promptCall(step.state, { promptTool, id, payload, call: question.call });
  if (made !== undefined) {
    recordQuestion(step, { id, question });
    step.emit(made);
    return;
  }
  const { name, tool } = promptTool;
  const prefix = name.slice(0, name.length - tool.length);
  const available = toolsBesidePrompt(step.state, promptTool).map((other) => `${prefix}${other}`);
  endSession(step, { kind: "no-prompt-tool", name, available });
}

/** Receives the answer of the tool that decides, or the list of its server's tools. */
export function onPromptToolAnswer(step: ControlStep, message: JsonObject): void {
  const { id } = message;
  const question = typeof id === "string" ? step.state.openQuestions.get(id) : undefined;
  if (typeof id !== "string" || question?.kind !== "permission") {
    step.replace(notePromptTools(step.state, message));
    return;
  }
  step.update({ openQuestions: without(step.state.openQuestions, id) });
  decide(step, { question, decision: promptDecision(message, question) });
}

/** Receives the child's message to an MCP server of the caller's. A call of a tool waits until it is printed. */
export function onServerMessage(
  step: ControlStep,
  { server, message, at }: WaitingMessage & { readonly at: number },
): void {
  if (message["method"] === PROBE) {
    step.emit(...unknownMethod(serverQuestion({ server, message })));
    return;
  }
  step.replace(withCancelled(step.state, { server, message }));
  askOncePrinted(step, { asking: { server, message }, at });
}

/** Receives an MCP server's question to the user: a caller that speaks the protocol is asked in the user's place. */
export function onElicitation(
  step: ControlStep,
  { hookId, payload, at }: Pick<WaitingHook, "hookId" | "payload"> & { readonly at: number },
): void {
  if (step.state.options.caller?.initialized === undefined) {
    step.emit(answerHook(hookId, NOBODY_ASKED));
  } else {
    askOncePrinted(step, { asking: { hookId, payload, elicits: true }, at });
  }
}

function askServer(step: ControlStep, waiting: WaitingMessage): void {
  const { server, message } = waiting;
  const question = serverQuestion(waiting);
  if (step.state.isOpen) {
    ask(step, { question, request: { subtype: "mcp_message", server_name: server, message } });
  } else {
    step.emit(...serverError(question, SERVER_GONE));
  }
}

function ask(
  step: ControlStep,
  { question, request }: { readonly question: Question; readonly request: CallerQuestion },
): void {
  const id = nextId(step.state);
  recordQuestion(step, { id, question });
  step.emit({ type: "ask", id, question: request });
}

function nextId({ options, questionCount }: SessionState): string {
  return `${options.caller?.idPrefix}-${questionCount + 1}`;
}

function recordQuestion(
  step: ControlStep,
  { id, question }: { readonly id: string; readonly question: Question },
): void {
  const { questionCount, openQuestions } = step.state;
  step.update({
    questionCount: questionCount + 1,
    openQuestions: new Map([...openQuestions, [id, question]]),
  });
}

/** Receives an answer of the caller's; ignores one to a question that is not open. */
export function onAnswer(step: ControlStep, given: ControlAnswer): void {
  const { openQuestions, options: { caller } } = step.state;
  const question = openQuestions.get(given.id);
  if (question === undefined) return;
  if (question.kind === "permission" && isAskedElsewhere(step.state)) return;
  step.update({ openQuestions: without(openQuestions, given.id) });
  switch (question.kind) {
    case "permission":
      decide(step, {
        question,
        decision: caller?.promptTool !== undefined
          ? ownPromptDecision(given, question)
          : "error" in given
          ? failedRequest(`Error: ${given.error}`)
          : decisionOf(given.response, question),
      });
      return;
    case "server":
      if ("error" in given) {
        step.replace(withFailure(step.state, question));
        step.emit(...serverError(question, given.error));
      } else {
        step.replace(noted(step.state, question, given.response));
        step.emit(...serverAnswer(question, given.response));
      }
      return;
    case "elicitation":
      step.emit(
        answerHook(question.hookId, "error" in given ? NOBODY_ASKED : elicited(given.response)),
      );
      return;
    case "callback": {
      const misnamed = misnamedPrompt(question, given);
      if (misnamed !== undefined) {
        endSession(step, { kind: "misnamed-answer", message: misnamed });
        return;
      }
      step.emit(...callbackAnswer(step.state, question, given));
      step.replace(withHookAsks(step.state, question, given));
      step.update({ isCallerSilent: false });
    }
  }
}
