import { hasCapability } from "../../../claude/versions/profiles.ts";
import { answerHook, recordDecision } from "../answers.ts";
import type { CallbackHook } from "../caller_options.ts";
import { type Question, removeQuestion } from "./question.ts";
import type { ControlStep } from "../../control/control_step.ts";
import { deadline, type Effect } from "../../control/effect.ts";
import { confirmationAsked, DEFERRAL } from "../../control/hook_answers.ts";
import type { HookPayload } from "../../control/input.ts";
import type { SessionState } from "../../control/session_state.ts";
import { definedFields } from "../../../defined_fields.ts";
import { isJsonObject, type JsonObject } from "../../../json_object.ts";
import type { CallerQuestion, ControlAnswer } from "../../../claude/wire/control.ts";

/** A question for one of the caller's hooks. */
type CallbackQuestion = Extract<Question, { readonly kind: "callback" }>;

/** Builds the request to one of the caller's hooks, and the question that stays open until the answer. */
export function buildCallbackQuestion(
  { options }: SessionState,
  { callback, payload, hookId, at }: {
    readonly callback: CallbackHook;
    readonly payload: HookPayload;
    readonly hookId: string;
    readonly at: number;
  },
): { readonly question: CallbackQuestion; readonly request: CallerQuestion } {
  const { id, timeoutS } = callback;
  const toolUseId = payload["tool_use_id"];
  const due = timeoutS === undefined ? {} : { due: at + timeoutS * 1000 };
  const known = typeof toolUseId === "string" ? { toolUseId } : {};
  return {
    question: {
      ...{ kind: "callback", hookId, callback, ...due, ...known },
      ...definedFields({ prompt: payload["prompt"] }),
    },
    request: {
      subtype: "hook_callback",
      callback_id: id,
      input: payload,
      // An event without a tool call gets a separate id.
      tool_use_id: known.toolUseId ?? `${options.caller?.idPrefix}-${hookId}`,
    },
  };
}

/** Answers the child's hook with the caller's answer. */
export function answerCallback(
  step: ControlStep,
  question: CallbackQuestion,
  given: ControlAnswer,
): void {
  if ("error" in given || !isValidAnswer(given.response, question)) {
    return failCallback(step, question);
  }
  const { response } = given;
  const misnamed = misnamedEventError(question, response);
  if (misnamed !== undefined) return rejectMisnamed(step, question, misnamed);
  step.emit(answerHook(question.hookId, buildReply(question, response)));
  if (forbids(question, response)) recordDecision(step, question.toolUseId, "forbidden");
}

/** Builds the reply of the child's hook from the answer of the caller's hook. */
function buildReply(question: CallbackQuestion, response: JsonObject): HookPayload | undefined {
  if (question.callback.event === "PreCompact") return replyToCompaction(response);
  return defers(question, response) ? DEFERRAL : response;
}

/**
 * Builds the reply to PreCompact. The model that writes the summary reads the output of such a hook. `claude -p`
 * 2.1.330 uses only the message of a caller's hook, also as the reason for not compacting.
 */
function replyToCompaction({ decision, systemMessage }: JsonObject): HookPayload | undefined {
  const hasMessage = typeof systemMessage === "string" && systemMessage !== "";
  if (decision === "block") return hasMessage ? { decision, reason: systemMessage } : { decision };
  return hasMessage ? { systemMessage } : undefined;
}

/** Answers for a failed hook: reports the failure, and blocks the action if the hook is configured to block. */
function failCallback(
  step: ControlStep,
  { hookId, callback: { event, id, blocks }, toolUseId }: CallbackQuestion,
): void {
  if (!hasCapability(step.state.version, "hookFailures")) return step.emit(answerHook(hookId));
  const what =
    `Hook callback ${id} failed: the SDK host replied with an error or an invalid answer.`;
  if (!blocks || NEVER_BLOCKING.includes(event)) {
    const text = `${event}: ${what} Its answer was treated as empty.`;
    const ofStop = blocks && event === "Stop" ? { ofStop: true as const } : {};
    return step.emit({ type: "remark", text, ...ofStop }, answerHook(hookId));
  }
  const counts = `onFailure is "block", so this failure counts as a block.`;
  // Claude Code itself names the hook when it does not compact.
  const by = event === "PreCompact" ? "" : "[callback]: ";
  const reason = `${by}failed; blocking because onFailure is "block"\n${what}`;
  step.emit(
    { type: "remark", text: `${event}: ${what} ${counts}` },
    answerHook(
      hookId,
      PROMPT_EVENTS.includes(event) ? promptBlock(event, reason) : { decision: "block", reason },
    ),
  );
  if (event === "PreToolUse") recordDecision(step, toolUseId, "forbidden");
}

/** Events that a failed hook never blocks. */
const NEVER_BLOCKING = [
  "Stop",
  "SubagentStop",
  "TaskCompleted",
  "TeammateIdle",
  "PermissionRequest",
];

/** Events whose hooks may block a prompt. `claude -p` sends no prompt without the hook's consent (2.1.330). */
const PROMPT_EVENTS = ["UserPromptSubmit", "UserPromptExpansion"];

/** The answer that blocks a prompt and does not repeat it. */
function promptBlock(event: string, reason: string): HookPayload {
  return {
    decision: "block",
    reason,
    hookSpecificOutput: { hookEventName: event, suppressOriginalPrompt: true },
  };
}

/** Returns the error that ends the run, as in `claude -p`, if the answer for a prompt names another event. */
export function findMisnamedPrompt(
  question: CallbackQuestion,
  given: ControlAnswer,
): string | undefined {
  return question.callback.event === "UserPromptSubmit" && "response" in given &&
      isValidAnswer(given.response, question)
    ? misnamedEventError(question, given.response)
    : undefined;
}

/** Returns Claude Code's error for an answer that names another event; undefined if the event is right. */
function misnamedEventError(
  { callback: { event } }: CallbackQuestion,
  response: JsonObject,
): string | undefined {
  const { hookSpecificOutput: output } = response;
  const name = isJsonObject(output) ? output["hookEventName"] : undefined;
  const isOwn = name === event ||
    (event === SKILL_SHELL && SKILL_SHELL_ANSWERS.some((of) => of === name));
  return name === undefined || isOwn
    ? undefined
    : `Hook returned incorrect event name: expected '${event}' but got '${name}'. Full stdout: ` +
      JSON.stringify(response, null, 2);
}

/** Answers for a hook whose answer names another event: the answer is ignored, and a tool call is denied. */
function rejectMisnamed(
  step: ControlStep,
  { hookId, callback: { event }, toolUseId }: CallbackQuestion,
  misnamed: string,
): void {
  if (event === "Stop" && hasCapability(step.state.version, "hookFailures")) {
    step.emit({ type: "remark", text: `Stop hook failed: ${misnamed}`, own: true });
  }
  const isCall = event === "PreToolUse";
  const reply = event === SKILL_SHELL ? blockSkillShell("the hook couldn't run") : undefined;
  step.emit(answerHook(hookId, isCall ? MISNAMED_DENIAL : reply));
  if (isCall) recordDecision(step, toolUseId, "late");
}

/** Events whose hooks have a `hookSpecificOutput`, which names the event (2.1.330). */
const EVENTS_WITH_OUTPUT =
  ("PreToolUse UserPromptSubmit UserPromptExpansion SessionStart Setup PreModelSwitch " +
    "PostModelSwitch SubagentStart PostToolUse PostToolUseFailure PostToolBatch Stop SubagentStop " +
    "PermissionDenied Notification PermissionRequest Elicitation ElicitationResult CwdChanged " +
    "FileChanged WorktreeCreate MessageDisplay PreSkillShellCommand").split(" ");

/** Events whose hooks have no `hookSpecificOutput`. For unknown events, the child checks the answer. */
const EVENTS_WITHOUT_OUTPUT =
  ("SessionEnd StopFailure PreCompact PostCompact TeammateIdle TaskCreated " +
    "TaskCompleted ConfigChange WorktreeRemove InstructionsLoaded DirectoryAdded").split(" ");

/** The event of a shell command in the text of a skill (2.1.332). */
const SKILL_SHELL = "PreSkillShellCommand";
/** Events that an answer to this event may name, as in `claude -p`. */
const SKILL_SHELL_ANSWERS = ["PreToolUse", "PermissionRequest"];

/** Builds the answer that blocks a shell command of a skill. The reasons are Claude Code's. */
function blockSkillShell(reason: "the hook couldn't run" | "the hook didn't answer"): HookPayload {
  return { decision: "block", reason };
}

/** Whether Claude Code accepts a value as the answer of a hook. */
function isValidAnswer(
  response: unknown,
  { callback: { event } }: CallbackQuestion,
): response is JsonObject {
  if (!isJsonObject(response)) return false;
  const { decision, hookSpecificOutput: output } = response;
  if (output === undefined) return isDecision(decision);
  const { hookEventName: name, permissionDecision: permission } = isJsonObject(output)
    ? output
    : {};
  const isKnown = EVENTS_WITH_OUTPUT.some((each) => each === name) ||
    (name === event && !EVENTS_WITHOUT_OUTPUT.includes(event));
  return isDecision(decision) && isKnown &&
    (permission === undefined ||
      ["allow", "deny", "ask", "defer"].some((each) => each === permission));
}

function isDecision(decision: unknown): boolean {
  return decision === undefined || decision === "approve" || decision === "block";
}

/**
 * Records that a hook requests a question to the user about a call. If that is impossible, the hook's reason is the
 * denial.
 */
export function recordHookAsks(
  state: SessionState,
  question: CallbackQuestion,
  given: ControlAnswer,
): SessionState {
  const { callback: { event }, toolUseId } = question;
  if (event !== "PreToolUse" || "error" in given || !isValidAnswer(given.response, question)) {
    return state;
  }
  const { hookSpecificOutput: output } = given.response;
  if (!isJsonObject(output) || output["permissionDecision"] !== "ask") return state;
  const { permissionDecisionReason: reason } = output;
  const calls = state.printedCalls.map((call) =>
    call.id === toolUseId && call.hookAsks === undefined
      ? {
        ...call,
        hookAsks: typeof reason === "string" && reason !== ""
          ? reason
          : confirmationAsked(call.name),
      }
      : call
  );
  return { ...state, printedCalls: calls };
}

/** Whether a hook's answer forbids a call. Only PreToolUse can; later hooks cannot undo a call. */
function forbids(
  { callback: { event } }: CallbackQuestion,
  { hookSpecificOutput: output, decision }: JsonObject,
): boolean {
  return event === "PreToolUse" &&
    (decision === "block" || (isJsonObject(output) && output["permissionDecision"] === "deny"));
}

/** Whether a hook's answer defers a call. */
function defers(
  { callback: { event } }: CallbackQuestion,
  { hookSpecificOutput: output }: JsonObject,
): boolean {
  return event === "PreToolUse" && isJsonObject(output) &&
    output["permissionDecision"] === "defer";
}

/** Answers for a hook of a caller that has disconnected: a tool call is denied. */
export function answerWithoutCaller(
  step: ControlStep,
  { hookId, callback: { event }, toolUseId }: {
    readonly hookId: string;
    readonly callback: CallbackHook;
    readonly toolUseId?: unknown;
  },
): void {
  const isCall = event === "PreToolUse";
  const reply = event === SKILL_SHELL ? blockSkillShell("the hook didn't answer") : undefined;
  step.emit(answerHook(hookId, isCall ? GONE_DENIAL : reply));
  if (isCall) recordDecision(step, toolUseId, "gone");
}

/** Answers the caller's hooks whose time limit has expired. */
export function onCallbacksDue(step: ControlStep, at: number): void {
  for (const [id, question] of step.state.openQuestions) {
    if (question.kind !== "callback" || question.due === undefined || question.due > at) continue;
    const { hookId, callback: { event }, toolUseId } = question;
    const saysSilent = event === "Stop" && !step.state.isCallerSilent;
    step.update({ openQuestions: removeQuestion(step.state.openQuestions, id) });
    if (saysSilent) step.update({ isCallerSilent: true });
    step.emit(
      { type: "frame", frame: { type: "control_cancel_request", request_id: id } },
      answerHook(hookId, saysSilent ? SILENT_STOP : lateAnswer(question)),
    );
    if (event === "PreToolUse") recordDecision(step, toolUseId, "late");
  }
  step.emit(...armCallbackDeadline(step.state, at));
}

/** The reply after the time limit. As in `claude -p`, a hook that can forbid an action forbids it. */
function lateAnswer(
  { callback: { event, timeoutS = 0 } }: CallbackQuestion,
): HookPayload | undefined {
  if (event === SKILL_SHELL) return blockSkillShell("the hook didn't answer");
  if (PROMPT_EVENTS.includes(event)) {
    return promptBlock(event, `${event} hook callback timed out after ${timeoutS * 1000}ms`);
  }
  return event === "PreToolUse" ? LATE_DENIAL : undefined;
}

/**
 * The message to the user for a Stop hook without an answer. It is shown once, until the caller answers a hook again
 * (2.1.330).
 */
const SILENT_STOP: HookPayload = {
  systemMessage: "The app driving this session didn't respond, so this turn ended without it.",
};

/** Denies a call because its hook did not answer in time (2.1.330). */
const LATE_DENIAL: HookPayload = {
  hookSpecificOutput: {
    hookEventName: "PreToolUse",
    permissionDecision: "deny",
    permissionDecisionReason:
      "PreToolUse hook did not respond before its timeout (host client may be unreachable). " +
      "The tool call was not executed; other configured hooks may not have completed.",
  },
};

/** Denies a call because the hook's answer names another event (2.1.330). */
const MISNAMED_DENIAL: HookPayload = {
  hookSpecificOutput: {
    hookEventName: "PreToolUse",
    permissionDecision: "deny",
    permissionDecisionReason: "PreToolUse hook failed with an unexpected error. The tool call " +
      "was not executed; other configured hooks may not have completed.",
  },
};

/** Denies a call because the caller has disconnected, in the words of `claude -p`. */
const GONE_DENIAL: HookPayload = {
  hookSpecificOutput: {
    hookEventName: "PreToolUse",
    permissionDecision: "deny",
    permissionDecisionReason: "The user doesn't want to take this action right now. STOP what " +
      "you are doing and wait for the user to tell you how to proceed.",
  },
};

/** Starts the deadline for the hook whose time limit ends first. */
export function armCallbackDeadline(
  { openQuestions }: SessionState,
  at: number,
): readonly Effect[] {
  const due = [...openQuestions.values()].flatMap((question) =>
    question.kind === "callback" && question.due !== undefined ? [question.due] : []
  );
  return due.length === 0 ? [] : [deadline("callback", Math.max(0, Math.min(...due) - at))];
}
