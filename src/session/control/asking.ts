import { isJsonObject, type JsonObject } from "../../transcript/json_object.ts";
import type { CallerQuestion, ControlAnswer } from "../../wire/control.ts";
import { isNew } from "./answering.ts";
import type { CallDecision, Effect } from "../effect.ts";
import { end, stopped } from "../ending.ts";
import { DEFERRAL } from "../hook_answers.ts";
import type { HookPayload } from "../input.ts";
import type { SessionState } from "../session_state.ts";
import { act, deadline, stay, type Step } from "../step.ts";
import { lookWhenQuiet } from "../waits.ts";
import {
  givenUp,
  noted,
  PROBE,
  serverAnswer,
  serverError,
  unknownMethod,
  withFailure,
} from "./bridging.ts";
import { elicitation, elicited, NOBODY_ASKED } from "./elicitation.ts";
import { type Decision, decisionOf, failedRequest, permissionQuestion } from "./permission.ts";
import { notePromptTools, promptCall, promptDecision } from "./prompt_tool.ts";
import { withOwnServer } from "./servers.ts";
import type {
  CallbackHook,
  PromptTool,
  Question,
  ToolCall,
  WaitingHook,
  WaitingMessage,
} from "./question.ts";
import { callOf, isHook, isTold, type Waiting, withTold } from "./told_calls.ts";

/**
 * How long the line that a question is about may take to be read: lines are held back for 0.1 s, which goes on while the
 * child waits.
 */
const TOLD_MS = 2000;

/** Whether somebody else decides what the screen asks. */
export function isAsking({ asked, waiting }: SessionState): boolean {
  return waiting.some(isPermission) ||
    [...asked.values()].some(({ kind }) => kind === "permission");
}

/** Something waits for the caller, who is asked once the frames of what it is about have been printed. */
export function askWhenTold(
  before: SessionState,
  { asking, at }: { readonly asking: Waiting; readonly at: number },
): Step {
  const { state, effects } = askTold({ ...before, waiting: [...before.waiting, asking] }, at);
  return state.waiting.includes(asking)
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
  if (before.waiting.length === 0) return stay(before);
  let step = stay({ ...before, waiting: [] });
  // Hooks about a permission come after it.
  const permissions = before.waiting.filter(isPermission);
  const others = before.waiting.filter((waiting) => !isPermission(waiting));
  for (const waiting of [...permissions, ...others]) {
    step = isReady(step.state, waiting)
      ? then(
        step,
        (state) =>
          isHook(waiting) ? askFor(state, { hook: waiting, at }) : askServer(state, waiting),
      )
      : act({ ...step.state, waiting: [...step.state.waiting, waiting] }, step.effects);
  }
  return step.state.waiting.length > 0
    ? step
    : act(step.state, [...step.effects, deadline("told")]);
}

function isPermission(waiting: Waiting): boolean {
  return isHook(waiting) && waiting.callback === undefined && !waiting.elicits;
}

function askFor(
  state: SessionState,
  { hook: { hookId, payload: told, callback, elicits }, at }: {
    readonly hook: WaitingHook;
    readonly at: number;
  },
): Step {
  if (elicits) {
    return state.open
      ? ask(state, { question: { kind: "elicitation", hookId }, request: elicitation(told) })
      : act(state, [answer(hookId, NOBODY_ASKED)]);
  }
  const payload = withOwnServer(state, told);
  if (callback !== undefined) {
    return state.open
      ? askCallback(state, { callback, payload, hookId, at })
      : act(state, unheard(state, { hookId, callback, toolUseId: payload["tool_use_id"] }));
  }
  const call = callOf(state, payload);
  const { tool_name: tool, tool_input: input } = payload;
  const question = { kind: "permission", hookId, tool, input, call } as const;
  const next: SessionState = {
    ...state,
    calls: state.calls.map((each) =>
      each === call ? { ...each, askedWith: JSON.stringify(input) } : each
    ),
  };
  const promptTool = state.options.caller?.promptTool;
  if (promptTool !== undefined) return askTool(next, { promptTool, question, payload });
  return state.open && !state.options.caller?.isAbsent
    ? ask(next, { question, request: permissionQuestion(payload, { call, isNew: isNew(state) }) })
    : decide(next, { question, decision: unanswerable(next, "Stream closed") });
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
  const asking = withQuestion(state, question);
  const { id } = asking;
  const made = promptCall(state, { promptTool, id, payload, call: question.call });
  if (made !== undefined) return act(asking.state, [made]);
  const { name, tool } = promptTool;
  const prefix = name.slice(0, name.length - tool.length);
  const available = state.promptTools.map((other) => `${prefix}${other}`);
  return end(state, { kind: "no-prompt-tool", name, available });
}

/** The tool that decides has answered, or its server has told which tools it has. */
export function onToolAnswer(before: SessionState, message: JsonObject): Step {
  const { id } = message;
  const question = typeof id === "string" ? before.asked.get(id) : undefined;
  if (typeof id !== "string" || question?.kind !== "permission") {
    return stay(notePromptTools(before, message));
  }
  const state = { ...before, asked: without(before.asked, id) };
  return decide(state, {
    question,
    decision: promptDecision(message, { question, version: state.version }),
  });
}

function askCallback(
  state: SessionState,
  { callback, payload, hookId, at }: {
    readonly callback: CallbackHook;
    readonly payload: HookPayload;
    readonly hookId: string;
    readonly at: number;
  },
): Step {
  const { id, timeoutS } = callback;
  const toolUseId = payload["tool_use_id"];
  const due = timeoutS === undefined ? {} : { due: at + timeoutS * 1000 };
  const known = typeof toolUseId === "string" ? { toolUseId } : {};
  const asking = ask(state, {
    question: { kind: "callback", hookId, callback, ...due, ...known },
    request: {
      subtype: "hook_callback",
      callback_id: id,
      input: payload,
      // An event that is about no tool has an id of its own.
      tool_use_id: known.toolUseId ?? `${state.options.caller?.idPrefix}-${hookId}`,
    },
  });
  return act(asking.state, [...asking.effects, ...untilDue(asking.state, at)]);
}

/** The child says something to an MCP server of the caller's: a call of a tool once that has been told. */
export function onServerMessage(
  state: SessionState,
  { server, message, at }: WaitingMessage & { readonly at: number },
): Step {
  return message["method"] === PROBE
    ? act(state, unknownMethod(serverQuestion({ server, message })))
    : askWhenTold(givenUp(state, { server, message }), { asking: { server, message }, at });
}

/** An MCP server asks the user something: a caller that speaks the protocol is asked in the user's place. */
export function onElicitation(
  state: SessionState,
  { hookId, payload, at }: Pick<WaitingHook, "hookId" | "payload"> & { readonly at: number },
): Step {
  return state.options.caller?.initialized === undefined
    ? act(state, [answer(hookId, NOBODY_ASKED)])
    : askWhenTold(state, { asking: { hookId, payload, elicits: true }, at });
}

function serverQuestion(
  { server, message: { id, method } }: WaitingMessage,
): Extract<Question, { readonly kind: "server" }> {
  return { kind: "server", server, method, ...(id === undefined ? {} : { rpcId: id }) };
}

function askServer(state: SessionState, waiting: WaitingMessage): Step {
  const { server, message } = waiting;
  const question = serverQuestion(waiting);
  return state.open
    ? ask(state, { question, request: { subtype: "mcp_message", server_name: server, message } })
    : act(state, serverError(question, "The caller of its server has gone"));
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
  const questions = state.questions + 1;
  const id = `${state.options.caller?.idPrefix}-${questions}`;
  return { state: { ...state, questions, asked: new Map([...state.asked, [id, question]]) }, id };
}

/** The caller answers; what nobody has asked, or not any more, is nothing to anybody. */
export function onAnswer(before: SessionState, given: ControlAnswer): Step {
  const question = before.asked.get(given.id);
  if (question === undefined) return stay(before);
  const state = { ...before, asked: without(before.asked, given.id) };
  switch (question.kind) {
    case "permission":
      return decide(state, {
        question,
        decision: "error" in given
          ? failedRequest(`Error: ${given.error}`)
          : decisionOf(given.response, { ...question, isNew: isNew(state) }),
      });
    case "server":
      return "error" in given
        ? act(withFailure(state, question), serverError(question, given.error))
        : act(noted(state, question, given.response), serverAnswer(question, given.response));
    case "elicitation":
      return act(state, [
        answer(question.hookId, "error" in given ? NOBODY_ASKED : elicited(given.response)),
      ]);
    case "callback":
      return "error" in given || !isSound(given.response)
        ? act(state, failed(state, question))
        : act(state, [
          answer(question.hookId, defers(question, given.response) ? DEFERRAL : given.response),
          ...(forbids(given.response) ? decided(question.toolUseId, "forbidden") : []),
        ]);
  }
}

/** What becomes of a hook that has failed: since 2.1.330 what it guards is not done, if it was to be so. */
function failed(
  state: SessionState,
  { hookId, callback: { event, id, blocks }, toolUseId }: Extract<
    Question,
    { readonly kind: "callback" }
  >,
): readonly Effect[] {
  if (!blocks || !isNew(state) || UNGUARDING.includes(event)) return [answer(hookId)];
  const reason = `[callback]: failed; blocking because onFailure is "block"\n` +
    `Hook callback ${id} failed: the SDK host replied with an error or an invalid answer.`;
  return [
    answer(hookId, { decision: "block", reason }),
    ...(event === "PreToolUse" ? decided(toolUseId, "forbidden") : []),
  ];
}

/** Events that a hook which fails lets happen in any case; of a permission the caller is asked besides. */
const UNGUARDING = ["Stop", "SubagentStop", "TaskCompleted", "TeammateIdle", "PermissionRequest"];

/** Whether Claude Code takes it for the answer of a hook, as far as that has a say in what goes on. */
function isSound(response: unknown): response is JsonObject {
  if (!isJsonObject(response)) return false;
  const { decision, hookSpecificOutput: output = {} } = response;
  const { permissionDecision: permission } = isJsonObject(output) ? output : {};
  return isJsonObject(output) &&
    (decision === undefined || decision === "approve" || decision === "block") &&
    (permission === undefined ||
      ["allow", "deny", "ask", "defer"].some((each) => each === permission));
}

/** Whether a hook's answer forbids a call. */
function forbids({ hookSpecificOutput: output, decision }: JsonObject): boolean {
  return decision === "block" || (isJsonObject(output) && output["permissionDecision"] === "deny");
}

/** Whether a hook's answer puts a call off. */
function defers(
  { callback: { event } }: Extract<Question, { readonly kind: "callback" }>,
  { hookSpecificOutput: output }: JsonObject,
): boolean {
  return event === "PreToolUse" && isJsonObject(output) &&
    output["permissionDecision"] === "defer";
}

/** Hands a decision to the hook that waits for it. */
function decide(
  state: SessionState,
  { question: { hookId, call }, decision }: {
    readonly question: Extract<Question, { readonly kind: "permission" }>;
    readonly decision: Decision;
  },
): Step {
  const effects: readonly Effect[] = [
    answer(hookId, decision.reply),
    // A turn that ends with it takes no notice of what was decided.
    ...decided(call?.id, decision.interrupt ? "withdrawn" : decision.outcome),
    ...(decision.mode === undefined ? [] : [{ type: "mode", mode: decision.mode } as const]),
  ];
  const decisive = decision.outcome === "accepted" ? withAllowed(state, call, decision) : state;
  const next = decision.interrupt ? stopped(decisive) : stay(decisive);
  // What stands on the screen now, if anything, is another dialog.
  const isLeft = next.state.status?.status === "waiting" && !isAsking(next.state);
  return act(next.state, [...effects, ...next.effects, ...(isLeft ? [lookWhenQuiet()] : [])]);
}

function withAllowed(
  state: SessionState,
  allowed: ToolCall | undefined,
  { otherInput }: Decision,
): SessionState {
  const other = otherInput === undefined ? {} : { allowedWith: JSON.stringify(otherInput) };
  const calls = state.calls.map((call) =>
    call.id === allowed?.id ? { ...call, allowed: true, ...other } as const : call
  );
  return { ...state, calls };
}

/** Whoever could answer has gone. */
export function onCallerGone(before: SessionState): Step {
  // A tool answers all the same.
  if (before.options.caller?.promptTool !== undefined) return stay(before);
  let step: Step = stay({ ...before, asked: new Map(), waiting: [] });
  for (const question of before.asked.values()) {
    step = then(
      step,
      (state) =>
        question.kind === "permission"
          ? decide(state, { question, decision: unanswerable(state) })
          : act(
            state,
            question.kind === "callback"
              ? unheard(state, question)
              : question.kind === "elicitation"
              ? [answer(question.hookId, NOBODY_ASKED)]
              : serverError(question, "The caller of its server has gone"),
          ),
    );
  }
  for (const waiting of before.waiting) {
    step = then(step, (state) => {
      if (!isHook(waiting)) return askServer(state, waiting);
      const { hookId, callback, payload, elicits } = waiting;
      if (callback !== undefined) {
        return act(state, unheard(state, { hookId, callback, toolUseId: payload["tool_use_id"] }));
      }
      const reply = elicits ? NOBODY_ASKED : unanswerable(state).reply;
      return act(state, [answer(hookId, reply)]);
    });
  }
  return step;
}

/** What a hook that nobody can be asked about any more says: since 2.1.330 that a call is not to be carried out. */
function unheard(
  state: SessionState,
  { hookId, callback, toolUseId }: {
    readonly hookId: string;
    readonly callback: CallbackHook;
    readonly toolUseId?: unknown;
  },
): readonly Effect[] {
  if (callback.event !== "PreToolUse" || !isNew(state)) return [answer(hookId)];
  const id = typeof toolUseId === "string" ? toolUseId : undefined;
  return [answer(hookId, GONE), ...decided(id, "gone")];
}

function decided(toolUseId: string | undefined, decision: CallDecision): readonly Effect[] {
  return toolUseId === undefined ? [] : [{ type: "decided", toolUseId, decision }];
}

/** @param why in the words of `claude -p`, which has others where it would have asked nobody any more */
function unanswerable(
  state: SessionState,
  why = "Tool permission stream closed before response received",
): Decision {
  return failedRequest(`${isNew(state) ? "AbortError" : "Error"}: ${why}`);
}

/** Takes back what the caller is asked: the turn is over, and Claude Code has done with its hooks. */
export function withdraw(state: SessionState): Step {
  if (state.asked.size === 0 && state.waiting.length === 0) return stay(state);
  const effects: Effect[] = [];
  // A server is told by the child itself what is not wanted any more.
  const asked = new Map([...state.asked].filter(([, { kind }]) => kind === "server"));
  for (const [id, question] of state.asked) {
    if (question.kind === "server") continue;
    // A tool is not told.
    const isTool = question.kind === "permission" && state.options.caller?.promptTool !== undefined;
    if (!isTool) effects.push({ type: "withdraw", id });
    const isElicitation = question.kind === "elicitation";
    effects.push(answer(question.hookId, isElicitation ? NOBODY_ASKED : undefined));
    if (question.kind === "permission") effects.push(...decided(question.call?.id, "withdrawn"));
  }
  for (const waiting of state.waiting) {
    effects.push(
      ...(isHook(waiting)
        ? [answer(waiting.hookId, waiting.elicits ? NOBODY_ASKED : undefined)]
        : serverError(serverQuestion(waiting), "The turn was over before the caller was asked")),
    );
  }
  return act({ ...state, asked, waiting: [] }, effects);
}

/** Goes on without the hooks of the caller's whose time is up. */
export function onCallbacksDue(before: SessionState, at: number): Step {
  let step: Step = stay(before);
  for (const [id, question] of before.asked) {
    if (question.kind !== "callback" || question.due === undefined || question.due > at) continue;
    const { hookId, callback: { event }, toolUseId } = question;
    step = then(step, (state) =>
      act({ ...state, asked: without(state.asked, id) }, [
        { type: "withdraw", id },
        ...(event === "PreToolUse"
          ? [answer(hookId, LATE), ...decided(toolUseId, "late")]
          : [answer(hookId)]),
      ]));
  }
  return act(step.state, [...step.effects, ...untilDue(step.state, at)]);
}

/** As `claude -p`: a hook that may forbid a call forbids it when it says nothing. */
const LATE: HookPayload = {
  hookSpecificOutput: {
    hookEventName: "PreToolUse",
    permissionDecision: "deny",
    permissionDecisionReason:
      "PreToolUse hook did not respond before its timeout (host client may be unreachable). " +
      "The tool call was not executed",
  },
};

/** The same where it has gone, in the words of `claude -p`. */
const GONE: HookPayload = {
  hookSpecificOutput: {
    hookEventName: "PreToolUse",
    permissionDecision: "deny",
    permissionDecisionReason: "The user doesn't want to take this action right now. STOP what " +
      "you are doing and wait for the user to tell you how to proceed.",
  },
};

function untilDue({ asked }: SessionState, at: number): readonly Effect[] {
  const due = [...asked.values()].flatMap((question) =>
    question.kind === "callback" && question.due !== undefined ? [question.due] : []
  );
  return due.length === 0 ? [] : [deadline("callback", Math.max(0, Math.min(...due) - at))];
}

function answer(id: string, reply?: HookPayload): Effect {
  return { type: "answer", id, ...(reply === undefined ? {} : { reply }) };
}

function without(asked: SessionState["asked"], id: string): SessionState["asked"] {
  return new Map([...asked].filter(([other]) => other !== id));
}

function then(before: Step, next: (state: SessionState) => Step): Step {
  const { state, effects } = next(before.state);
  return act(state, [...before.effects, ...effects]);
}
