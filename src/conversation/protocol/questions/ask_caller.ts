import { answerHook } from "../answers.ts";
import {
  answerChild,
  buildServerQuestion,
  PROBE,
  recordCancellation,
  recordServerFailure,
  recordServerReport,
  reportServerError,
  reportUnknownMethod,
  SERVER_GONE,
} from "./caller_servers.ts";
import { decide, isPermission, unanswerableDecision } from "./decide_permission.ts";
import { buildElicitation, NOBODY_ASKED, readElicitationAnswer } from "./elicitation.ts";
import {
  answerCallback,
  answerWithoutCaller,
  armCallbackDeadline,
  buildCallbackQuestion,
  findMisnamedPrompt,
  recordHookAsks,
} from "./hook_callbacks.ts";
import { buildPermissionQuestion, failedRequest, readDecision } from "./permission.ts";
import {
  buildPromptCall,
  isAskedElsewhere,
  listOtherTools,
  readOwnPromptDecision,
  readPromptDecision,
  recordPromptTools,
} from "./prompt_tool.ts";
import type { PromptTool } from "../caller_options.ts";
import {
  type Question,
  removeQuestion,
  type WaitingHook,
  type WaitingMessage,
} from "./question.ts";
import { withOwnServer } from "../requests/mcp_requests.ts";
import {
  findPermissionCall,
  isHook,
  isSubjectPrinted,
  recordPrintedLines,
  type Waiting,
} from "./printed_calls.ts";
import { endSession } from "../../control/end_session.ts";
import type { HookPayload } from "../../control/input.ts";
import type { SessionState } from "../../control/session_state.ts";
import type { ControlStep } from "../../control/control_step.ts";
import { deadline } from "../../control/effect.ts";
import type { JsonObject } from "../../../json_object.ts";
import type { CallerQuestion, ControlAnswer } from "../../../claude/wire/control.ts";

/**
 * How long a question waits for the line of its subject, in milliseconds. The child delays lines by 0.1 s, even while
 * it waits for the answer.
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

/** Asks the questions whose subjects are printed. Call it when the frames of all lines so far are printed. */
export function onLinesPrinted(step: ControlStep, at: number): void {
  step.replace(recordPrintedLines(step.state));
  askPrinted(step, at);
}

function askPrinted(step: ControlStep, at: number): void {
  askReady(step, { at, isReady: isSubjectPrinted });
}

/** Asks all deferred questions, because their subjects will not be printed. */
export function askRemaining(step: ControlStep, at: number): void {
  step.replace(recordPrintedLines(step.state));
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
      ask(step, {
        question: { kind: "elicitation", hookId },
        request: buildElicitation(hook.payload),
      });
    } else {
      step.emit(answerHook(hookId, NOBODY_ASKED));
    }
    return;
  }
  const payload = withOwnServer(step.state, hook.payload);
  if (callback === undefined) {
    askForPermission(step, { hookId, payload });
  } else if (isOpen) {
    ask(step, buildCallbackQuestion(step.state, { callback, payload, hookId, at }));
    step.emit(...armCallbackDeadline(step.state, at));
  } else {
    answerWithoutCaller(step, { hookId, callback, toolUseId: payload["tool_use_id"] });
  }
}

function askForPermission(
  step: ControlStep,
  { hookId, payload }: Pick<WaitingHook, "hookId" | "payload">,
): void {
  const { isOpen, printedCalls, options: { caller } } = step.state;
  const call = findPermissionCall(step.state, payload);
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
    ask(step, { question, request: buildPermissionQuestion(payload, { call }) });
  } else {
    decide(step, { question, decision: unanswerableDecision("Stream closed") });
  }
}

/** Lets the prompt tool decide. Without the tool the session ends, as in `claude -p`. */
function askPromptTool(
  step: ControlStep,
  { promptTool, question, payload }: {
    readonly promptTool: PromptTool;
    readonly question: Extract<Question, { readonly kind: "permission" }>;
    readonly payload: HookPayload;
  },
): void {
  if (promptTool.ownServer !== undefined && !step.state.isOpen) {
    decide(step, { question, decision: unanswerableDecision("Stream closed") });
    return;
  }
  const id = nextId(step.state);
  const made = buildPromptCall(step.state, { promptTool, id, payload, call: question.call });
  if (made !== undefined) {
    recordQuestion(step, { id, question });
    step.emit(made);
    return;
  }
  const { name, tool } = promptTool;
  const prefix = name.slice(0, name.length - tool.length);
  const available = listOtherTools(step.state, promptTool).map((other) => `${prefix}${other}`);
  endSession(step, { kind: "no-prompt-tool", name, available });
}

/** Receives the answer of the tool that decides, or the list of its server's tools. */
export function onPromptToolAnswer(step: ControlStep, message: JsonObject): void {
  const { id } = message;
  const question = typeof id === "string" ? step.state.openQuestions.get(id) : undefined;
  if (typeof id !== "string" || question?.kind !== "permission") {
    step.replace(recordPromptTools(step.state, message));
    return;
  }
  step.update({ openQuestions: removeQuestion(step.state.openQuestions, id) });
  decide(step, { question, decision: readPromptDecision(message, question) });
}

/** Receives the child's message to an MCP server of the caller. A tool call is deferred until it is printed. */
export function onServerMessage(
  step: ControlStep,
  { server, message, at }: WaitingMessage & { readonly at: number },
): void {
  if (message["method"] === PROBE) {
    step.emit(...reportUnknownMethod(buildServerQuestion({ server, message })));
    return;
  }
  step.replace(recordCancellation(step.state, { server, message }));
  askOncePrinted(step, { asking: { server, message }, at });
}

/** Receives an MCP server's question to the user. A caller that has sent `initialize` is asked instead of the user. */
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
  const question = buildServerQuestion(waiting);
  if (step.state.isOpen) {
    ask(step, { question, request: { subtype: "mcp_message", server_name: server, message } });
  } else {
    step.emit(...reportServerError(question, SERVER_GONE));
  }
}

function ask(
  step: ControlStep,
  { question, request }: { readonly question: Question; readonly request: CallerQuestion },
): void {
  const id = nextId(step.state);
  recordQuestion(step, { id, question });
  step.emit({ type: "frame", frame: { type: "control_request", request_id: id, request } });
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

/** Receives an answer of the caller. Ignores answers to questions that are not open. */
export function onAnswer(step: ControlStep, given: ControlAnswer): void {
  const { openQuestions, options: { caller } } = step.state;
  const question = openQuestions.get(given.id);
  if (question === undefined) return;
  if (question.kind === "permission" && isAskedElsewhere(step.state)) return;
  step.update({ openQuestions: removeQuestion(openQuestions, given.id) });
  switch (question.kind) {
    case "permission":
      decide(step, {
        question,
        decision: caller?.promptTool !== undefined
          ? readOwnPromptDecision(given, question)
          : "error" in given
          ? failedRequest(`Error: ${given.error}`)
          : readDecision(given.response, question),
      });
      return;
    case "server":
      if ("error" in given) {
        step.replace(recordServerFailure(step.state, question));
        step.emit(...reportServerError(question, given.error));
      } else {
        step.replace(recordServerReport(step.state, question, given.response));
        step.emit(...answerChild(question, given.response));
      }
      return;
    case "elicitation":
      step.emit(
        answerHook(
          question.hookId,
          "error" in given ? NOBODY_ASKED : readElicitationAnswer(given.response),
        ),
      );
      return;
    case "callback": {
      const misnamed = findMisnamedPrompt(question, given);
      if (misnamed !== undefined) {
        endSession(step, { kind: "misnamed-answer", message: misnamed });
        return;
      }
      answerCallback(step, question, given);
      step.replace(recordHookAsks(step.state, question, given));
      step.update({ isCallerSilent: false });
    }
  }
}
