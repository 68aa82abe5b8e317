import { hasCapability } from "../../../claude/versions/profiles.ts";
import { answerHook, decisionEffects } from "../answers.ts";
import type { CallbackHook } from "../caller_options.ts";
import { type Question, without } from "./question.ts";
import type { ControlStep } from "../../control/control_step.ts";
import { deadline, type Effect } from "../../control/effect.ts";
import { confirmationAsked, DEFERRAL } from "../../control/hook_answers.ts";
import type { HookPayload } from "../../control/input.ts";
import type { SessionState } from "../../control/session_state.ts";
import { isJsonObject, type JsonObject } from "../../../json_object.ts";
import type { CallerQuestion, ControlAnswer } from "../../../claude/wire/control.ts";

/** What somebody wants to know of a hook of the caller's. */
type CallbackQuestion = Extract<Question, { readonly kind: "callback" }>;

/** What the caller is asked about a hook of its own, and what is remembered of that. */
export function callbackQuestion(
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
    question: { kind: "callback", hookId, callback, ...due, ...known },
    request: {
      subtype: "hook_callback",
      callback_id: id,
      input: payload,
      // An event that is about no tool has an id of its own.
      tool_use_id: known.toolUseId ?? `${options.caller?.idPrefix}-${hookId}`,
    },
  };
}

/** What the hook says for which the caller has been asked. */
export function callbackAnswer(
  state: SessionState,
  question: CallbackQuestion,
  given: ControlAnswer,
): readonly Effect[] {
  if ("error" in given || !isSound(given.response, question)) return failed(state, question);
  const { response } = given;
  const misnamed = misnaming(question, response);
  if (misnamed !== undefined) return ofAnother(state, { question, misnamed });
  return [
    answerHook(question.hookId, replyOf(question, response)),
    ...(forbids(question, response) ? decisionEffects(question.toolUseId, "forbidden") : []),
  ];
}

/** What the child's hook says where the caller's has said something. */
function replyOf(question: CallbackQuestion, response: JsonObject): HookPayload | undefined {
  if (question.callback.event === "PreCompact") return replyToCompaction(response);
  return defers(question, response) ? DEFERRAL : response;
}

/**
 * The same ahead of a compaction: what a hook prints then is told to whoever makes the summary, and of a caller's
 * `claude -p` (2.1.330) takes nothing but its message, which is also why nothing is compacted.
 */
function replyToCompaction({ decision, systemMessage }: JsonObject): HookPayload | undefined {
  const said = typeof systemMessage === "string" && systemMessage !== "";
  if (decision === "block") return said ? { decision, reason: systemMessage } : { decision };
  return said ? { systemMessage } : undefined;
}

/**
 * What becomes of a hook that has failed: it is told, and what it guards is not done, if it was to be so.
 */
function failed(
  state: SessionState,
  { hookId, callback: { event, id, blocks }, toolUseId }: CallbackQuestion,
): readonly Effect[] {
  if (!hasCapability(state.version, "hookFailures")) return [answerHook(hookId)];
  const what =
    `Hook callback ${id} failed: the SDK host replied with an error or an invalid answer.`;
  if (!blocks || UNGUARDING.includes(event)) {
    const text = `${event}: ${what} Its answer was treated as empty.`;
    const ofStop = blocks && event === "Stop" ? { ofStop: true as const } : {};
    return [{ type: "remark", text, ...ofStop }, answerHook(hookId)];
  }
  const counts = `onFailure is "block", so this failure counts as a block.`;
  // Whoever is told why nothing is compacted is told by whom anyway.
  const by = event === "PreCompact" ? "" : "[callback]: ";
  const reason = `${by}failed; blocking because onFailure is "block"\n${what}`;
  return [
    { type: "remark", text: `${event}: ${what} ${counts}` },
    answerHook(
      hookId,
      PROMPTING.includes(event) ? promptBlock(event, reason) : { decision: "block", reason },
    ),
    ...(event === "PreToolUse" ? decisionEffects(toolUseId, "forbidden") : []),
  ];
}

/** Events that a hook which fails lets happen in any case; of a permission the caller is asked besides. */
const UNGUARDING = ["Stop", "SubagentStop", "TaskCompleted", "TeammateIdle", "PermissionRequest"];

/** Events whose hooks may block a prompt: `claude -p` sends none of which one has not said that it may be (2.1.330). */
const PROMPTING = ["UserPromptSubmit", "UserPromptExpansion"];

/** The answer that blocks a prompt where no hook has judged it, and which therefore is not repeated. */
function promptBlock(event: string, reason: string): HookPayload {
  return {
    decision: "block",
    reason,
    hookSpecificOutput: { hookEventName: event, suppressOriginalPrompt: true },
  };
}

/**
 * What ends the run because of a caller's answer: as with `claude -p`, one for a prompt that is an answer of another
 * event's hook.
 */
export function misnamedPrompt(
  question: CallbackQuestion,
  given: ControlAnswer,
): string | undefined {
  return question.callback.event === "UserPromptSubmit" && "response" in given &&
      isSound(given.response, question)
    ? misnaming(question, given.response)
    : undefined;
}

/** What Claude Code says of an answer that names another event than that of the hook; undefined for the right one. */
function misnaming(
  { callback: { event } }: CallbackQuestion,
  response: JsonObject,
): string | undefined {
  const { hookSpecificOutput: output } = response;
  const name = isJsonObject(output) ? output["hookEventName"] : undefined;
  const isOwn = name === event ||
    (event === SKILL_SHELL && OF_SKILL_SHELL.some((of) => of === name));
  return name === undefined || isOwn
    ? undefined
    : `Hook returned incorrect event name: expected '${event}' but got '${name}'. Full stdout: ` +
      JSON.stringify(response, null, 2);
}

/** What becomes of a hook whose answer is one of another event's: it says nothing, and a call is not carried out. */
function ofAnother(
  state: SessionState,
  { question, misnamed }: { readonly question: CallbackQuestion; readonly misnamed: string },
): readonly Effect[] {
  const { hookId, callback: { event }, toolUseId } = question;
  if (event === "PreToolUse") {
    return [answerHook(hookId, MISNAMED), ...decisionEffects(toolUseId, "late")];
  }
  if (event === SKILL_SHELL) return [answerHook(hookId, notRun("the hook couldn't run"))];
  const isTold = event === "Stop" && hasCapability(state.version, "hookFailures");
  return [
    ...(isTold
      ? [{ type: "remark" as const, text: `Stop hook failed: ${misnamed}`, own: true as const }]
      : []),
    answerHook(hookId),
  ];
}

/** The events whose hooks have an output of their own, in which the event is named (2.1.330). */
const NAMED =
  ("PreToolUse UserPromptSubmit UserPromptExpansion SessionStart Setup PreModelSwitch " +
    "PostModelSwitch SubagentStart PostToolUse PostToolUseFailure PostToolBatch Stop SubagentStop " +
    "PermissionDenied Notification PermissionRequest Elicitation ElicitationResult CwdChanged " +
    "FileChanged WorktreeCreate MessageDisplay PreSkillShellCommand").split(" ");

/** The events whose hooks have none; what those say that are not known yet, the child itself judges. */
const UNNAMED = ("SessionEnd StopFailure PreCompact PostCompact TeammateIdle TaskCreated " +
  "TaskCompleted ConfigChange WorktreeRemove InstructionsLoaded DirectoryAdded").split(" ");

/** The event of a command that the text of a skill has run, which its hook may forbid (2.1.332). */
const SKILL_SHELL = "PreSkillShellCommand";
/** The events of which an answer to it may be one, as to `claude -p`. */
const OF_SKILL_SHELL = ["PreToolUse", "PermissionRequest"];

/** The answer with which such a command does not run, for a reason that Claude Code has words for. */
function notRun(reason: "the hook couldn't run" | "the hook didn't answer"): HookPayload {
  return { decision: "block", reason };
}

/** Whether Claude Code takes it for the answer of a hook, as far as that has a say in what goes on. */
function isSound(
  response: unknown,
  { callback: { event } }: CallbackQuestion,
): response is JsonObject {
  if (!isJsonObject(response)) return false;
  const { decision, hookSpecificOutput: output } = response;
  if (output === undefined) return isDecision(decision);
  const { hookEventName: name, permissionDecision: permission } = isJsonObject(output)
    ? output
    : {};
  const isKnown = NAMED.some((each) => each === name) ||
    (name === event && !UNNAMED.includes(event));
  return isDecision(decision) && isKnown &&
    (permission === undefined ||
      ["allow", "deny", "ask", "defer"].some((each) => each === permission));
}

function isDecision(decision: unknown): boolean {
  return decision === undefined || decision === "approve" || decision === "block";
}

/** Notes of a call that a hook wants somebody to be asked about it: where nobody can be, its words are the denial. */
export function withHookAsks(
  state: SessionState,
  question: CallbackQuestion,
  given: ControlAnswer,
): SessionState {
  const { callback: { event }, toolUseId } = question;
  if (event !== "PreToolUse" || "error" in given || !isSound(given.response, question)) {
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

/** Whether a hook's answer forbids a call: one that has been carried out is not undone by what a hook says then. */
function forbids(
  { callback: { event } }: CallbackQuestion,
  { hookSpecificOutput: output, decision }: JsonObject,
): boolean {
  return event === "PreToolUse" &&
    (decision === "block" || (isJsonObject(output) && output["permissionDecision"] === "deny"));
}

/** Whether a hook's answer puts a call off. */
function defers(
  { callback: { event } }: CallbackQuestion,
  { hookSpecificOutput: output }: JsonObject,
): boolean {
  return event === "PreToolUse" && isJsonObject(output) &&
    output["permissionDecision"] === "defer";
}

/** What a hook that nobody can be asked about any more says: that a call is not to be carried out. */
export function unheard(
  { hookId, callback, toolUseId }: {
    readonly hookId: string;
    readonly callback: CallbackHook;
    readonly toolUseId?: unknown;
  },
): readonly Effect[] {
  if (callback.event === SKILL_SHELL) return [answerHook(hookId, notRun("the hook didn't answer"))];
  if (callback.event !== "PreToolUse") return [answerHook(hookId)];
  const id = typeof toolUseId === "string" ? toolUseId : undefined;
  return [answerHook(hookId, GONE), ...decisionEffects(id, "gone")];
}

/** Answers the caller's hooks whose time is up. */
export function onCallbacksDue(step: ControlStep, at: number): void {
  for (const [id, question] of step.state.openQuestions) {
    if (question.kind !== "callback" || question.due === undefined || question.due > at) continue;
    const { hookId, callback: { event }, toolUseId } = question;
    const saysSilent = event === "Stop" && !step.state.isCallerSilent;
    step.update({ openQuestions: without(step.state.openQuestions, id) });
    if (saysSilent) step.update({ isCallerSilent: true });
    step.emit(
      { type: "withdraw", id },
      answerHook(hookId, saysSilent ? SILENT : lateAnswer(question)),
    );
    if (event === "PreToolUse") step.emit(...decisionEffects(toolUseId, "late"));
  }
  step.emit(...untilDue(step.state, at));
}

/** As `claude -p`: a hook that may forbid something forbids it when it says nothing. */
function lateAnswer(
  { callback: { event, timeoutS = 0 } }: CallbackQuestion,
): HookPayload | undefined {
  if (event === SKILL_SHELL) return notRun("the hook didn't answer");
  if (PROMPTING.includes(event)) {
    return promptBlock(event, `${event} hook callback timed out after ${timeoutS * 1000}ms`);
  }
  return event === "PreToolUse" ? LATE : undefined;
}

/** What a person is told of a Stop hook that says nothing in time, once until the caller answers one again (2.1.330). */
const SILENT: HookPayload = {
  systemMessage: "The app driving this session didn't respond, so this turn ended without it.",
};

/** That a call is not carried out of which a hook has said nothing in time (2.1.330). */
const LATE: HookPayload = {
  hookSpecificOutput: {
    hookEventName: "PreToolUse",
    permissionDecision: "deny",
    permissionDecisionReason:
      "PreToolUse hook did not respond before its timeout (host client may be unreachable). " +
      "The tool call was not executed; other configured hooks may not have completed.",
  },
};

/** The same where it says what a hook of another event would (2.1.330). */
const MISNAMED: HookPayload = {
  hookSpecificOutput: {
    hookEventName: "PreToolUse",
    permissionDecision: "deny",
    permissionDecisionReason: "PreToolUse hook failed with an unexpected error. The tool call " +
      "was not executed; other configured hooks may not have completed.",
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

/** When the next time is up. */
export function untilDue({ openQuestions }: SessionState, at: number): readonly Effect[] {
  const due = [...openQuestions.values()].flatMap((question) =>
    question.kind === "callback" && question.due !== undefined ? [question.due] : []
  );
  return due.length === 0 ? [] : [deadline("callback", Math.max(0, Math.min(...due) - at))];
}
