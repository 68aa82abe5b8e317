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
import { act, andThen, asOld, deadline, stay, type Step } from "../../control/step.ts";
import type { JsonObject } from "../../../json_object.ts";
import type { CallerQuestion, ControlAnswer } from "../../../claude/wire/control.ts";

/**
 * How long the line that a question is about may take to be read: lines are held back for 0.1 s, which goes on while the
 * child waits.
 */
const TOLD_MS = 2000;

/** Something waits for the caller, who is asked once the frames of what it is about have been printed. */
export function askWhenTold(
  before: SessionState,
  { asking, at }: { readonly asking: Waiting; readonly at: number },
): Step {
  const { state, effects } = askTold({
    ...before,
    waitingQuestions: [...before.waitingQuestions, asking],
  }, at);
  return state.waitingQuestions.includes(asking)
    ? act(state, [
      ...effects,
      deadline("told", TOLD_MS),
      ...(isHook(asking) ? [deadline("look")] : []),
    ])
    : act(state, effects);
}

/** The frames of all lines so far have been printed: asks about what has been told by now. */
export function onTold(before: SessionState, at: number): Step {
  return askTold(withTold(before), at);
}

function askTold(before: SessionState, at: number): Step {
  return askThose(before, { at, isReady: (state, waiting) => isTold(state, waiting) });
}

/** Asks about the rest too: it is not told any more. */
export function askRest(before: SessionState, at: number): Step {
  return askThose(withTold(before), { at, isReady: () => true });
}

function askThose(
  before: SessionState,
  { at, isReady }: {
    readonly at: number;
    readonly isReady: (state: SessionState, waiting: Waiting) => boolean;
  },
): Step {
  if (before.waitingQuestions.length === 0) return stay(before);
  let step = stay({ ...before, waitingQuestions: [] });
  // Hooks about a permission come after it.
  const permissions = before.waitingQuestions.filter(isPermission);
  const others = before.waitingQuestions.filter((waiting) => !isPermission(waiting));
  for (const waiting of [...permissions, ...others]) {
    step = isReady(step.state, waiting)
      ? andThen(
        step,
        (state) =>
          isHook(waiting) ? askFor(state, { hook: waiting, at }) : askServer(state, waiting),
      )
      : act(
        { ...step.state, waitingQuestions: [...step.state.waitingQuestions, waiting] },
        step.effects,
      );
  }
  return step.state.waitingQuestions.length > 0
    ? step
    : act(step.state, [...step.effects, deadline("told")]);
}

function askFor(
  state: SessionState,
  { hook: { hookId, payload: told, callback, elicits }, at }: {
    readonly hook: WaitingHook;
    readonly at: number;
  },
): Step {
  if (elicits) {
    return state.isOpen
      ? ask(state, { question: { kind: "elicitation", hookId }, request: elicitation(told) })
      : act(state, [answerHook(hookId, NOBODY_ASKED)]);
  }
  const payload = withOwnServer(state, told);
  if (callback !== undefined) {
    return state.isOpen
      ? askCallback(state, callbackQuestion(state, { callback, payload, hookId, at }), at)
      : act(state, unheard({ hookId, callback, toolUseId: payload["tool_use_id"] }));
  }
  const call = callOf(state, payload);
  const { tool_name: tool, tool_input: input } = payload;
  const question = { kind: "permission", hookId, tool, input, call } as const;
  const next: SessionState = {
    ...state,
    printedCalls: state.printedCalls.map((each) =>
      each === call ? { ...each, askedWith: JSON.stringify(input) } : each
    ),
  };
  const promptTool = state.options.caller?.promptTool;
  if (promptTool !== undefined) return askTool(next, { promptTool, question, payload });
  return state.isOpen && !state.options.caller?.isAbsent
    ? ask(next, { question, request: permissionQuestion(payload, { call }) })
    : decide(next, { question, decision: unanswerable("Stream closed") });
}

/** Has a tool decide; without it nothing can go on, as in `claude -p`: with an answer the child would ask the model. */
function askTool(
  state: SessionState,
  { promptTool, question, payload }: {
    readonly promptTool: PromptTool;
    readonly question: Extract<Question, { readonly kind: "permission" }>;
    readonly payload: HookPayload;
  },
): Step {
  if (promptTool.ownServer !== undefined && !state.isOpen) {
    return decide(state, { question, decision: unanswerable("Stream closed") });
  }
  const asking = withQuestion(state, question);
  const { id } = asking;
  const made = promptCall(state, { promptTool, id, payload, call: question.call });
  if (made !== undefined) return act(asking.state, [made]);
  const { name, tool } = promptTool;
  const prefix = name.slice(0, name.length - tool.length);
  const available = toolsBesidePrompt(state, promptTool).map((other) => `${prefix}${other}`);
  return asOld(state, (step) => endSession(step, { kind: "no-prompt-tool", name, available }));
}

/** The tool that decides has answered, or its server has told which tools it has. */
export function onToolAnswer(before: SessionState, message: JsonObject): Step {
  const { id } = message;
  const question = typeof id === "string" ? before.openQuestions.get(id) : undefined;
  if (typeof id !== "string" || question?.kind !== "permission") {
    return stay(notePromptTools(before, message));
  }
  const state = { ...before, openQuestions: without(before.openQuestions, id) };
  return decide(state, {
    question,
    decision: promptDecision(message, question),
  });
}

function askCallback(
  state: SessionState,
  asked: ReturnType<typeof callbackQuestion>,
  at: number,
): Step {
  const asking = ask(state, asked);
  return act(asking.state, [...asking.effects, ...untilDue(asking.state, at)]);
}

/** The child says something to an MCP server of the caller's: a call of a tool once that has been told. */
export function onServerMessage(
  state: SessionState,
  { server, message, at }: WaitingMessage & { readonly at: number },
): Step {
  return message["method"] === PROBE
    ? act(state, unknownMethod(serverQuestion({ server, message })))
    : askWhenTold(withCancelled(state, { server, message }), { asking: { server, message }, at });
}

/** An MCP server asks the user something: a caller that speaks the protocol is asked in the user's place. */
export function onElicitation(
  state: SessionState,
  { hookId, payload, at }: Pick<WaitingHook, "hookId" | "payload"> & { readonly at: number },
): Step {
  return state.options.caller?.initialized === undefined
    ? act(state, [answerHook(hookId, NOBODY_ASKED)])
    : askWhenTold(state, { asking: { hookId, payload, elicits: true }, at });
}

function askServer(state: SessionState, waiting: WaitingMessage): Step {
  const { server, message } = waiting;
  const question = serverQuestion(waiting);
  return state.isOpen
    ? ask(state, { question, request: { subtype: "mcp_message", server_name: server, message } })
    : act(state, serverError(question, SERVER_GONE));
}

function ask(
  state: SessionState,
  { question, request }: { readonly question: Question; readonly request: CallerQuestion },
): Step {
  const asking = withQuestion(state, question);
  return act(asking.state, [{ type: "ask", id: asking.id, question: request }]);
}

/** Remembers a question under an id of its own. */
function withQuestion(
  state: SessionState,
  question: Question,
): { readonly state: SessionState; readonly id: string } {
  const questions = state.questionCount + 1;
  const id = `${state.options.caller?.idPrefix}-${questions}`;
  return {
    state: {
      ...state,
      questionCount: questions,
      openQuestions: new Map([...state.openQuestions, [id, question]]),
    },
    id,
  };
}

/** The caller answers; what nobody has asked, or not any more, is nothing to anybody. */
export function onAnswer(before: SessionState, given: ControlAnswer): Step {
  const question = before.openQuestions.get(given.id);
  if (question === undefined) return stay(before);
  const state = { ...before, openQuestions: without(before.openQuestions, given.id) };
  switch (question.kind) {
    case "permission":
      if (isAskedElsewhere(before)) return stay(before);
      return decide(state, {
        question,
        decision: state.options.caller?.promptTool !== undefined
          ? ownPromptDecision(given, question)
          : "error" in given
          ? failedRequest(`Error: ${given.error}`)
          : decisionOf(given.response, question),
      });
    case "server":
      return "error" in given
        ? act(withFailure(state, question), serverError(question, given.error))
        : act(noted(state, question, given.response), serverAnswer(question, given.response));
    case "elicitation":
      return act(state, [
        answerHook(question.hookId, "error" in given ? NOBODY_ASKED : elicited(given.response)),
      ]);
    case "callback": {
      const misnamed = misnamedPrompt(question, given);
      return misnamed === undefined
        ? act(
          { ...withHookAsks(state, question, given), isCallerSilent: false },
          callbackAnswer(state, question, given),
        )
        : asOld(state, (step) => endSession(step, { kind: "misnamed-answer", message: misnamed }));
    }
  }
}
