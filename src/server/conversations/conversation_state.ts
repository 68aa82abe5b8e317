import { asString, isJsonObject, jsonObjects } from "../../json_object.ts";
import type { ClaudeLimits } from "../../claude/wire/claude_limits.ts";
import type { Frame } from "../../claude/wire/frame.ts";
import type { ResultFrame } from "../../claude/wire/result_frame.ts";

/** A question for the caller that blocks a conversation. */
export interface OpenQuestion {
  readonly kind: "permission" | "question" | "plan" | "dialog";
  /** The id for the answer. A dialog has none, because it is answered in the terminal. */
  readonly requestId?: string;
  /** What is asked, in one line. */
  readonly cause: string;
  /** The tool whose call needs the answer, and its input. */
  readonly toolName?: string;
  readonly input?: unknown;
}

/** The maximum length of the kept text of the model. Lists of conversations contain it. */
const MAX_MESSAGE = 2000;

export type Activity =
  | { readonly kind: "starting" }
  | { readonly kind: "idle" }
  | { readonly kind: "working" }
  | { readonly kind: "waiting"; readonly question: OpenQuestion }
  | { readonly kind: "ended"; readonly exitCode: number }
  | { readonly kind: "failed"; readonly error: unknown };

export interface ConversationState {
  readonly activity: Activity;
  /** When the activity began, in milliseconds since the epoch. */
  readonly since: number;
  /** The session of its last turn. */
  readonly sessionId?: string;
  readonly model?: string;
  /** The last text of the model, cut to `MAX_MESSAGE` characters. */
  readonly lastMessage?: string;
  /** The number of turns that have ended. */
  readonly turns: number;
  /** The cost of all children in US dollars that is known so far. */
  readonly costUsd: number;
  readonly rateLimits?: ClaudeLimits["rate_limits"];
  readonly context?: ClaudeLimits["context_window"];
  /** The number of messages that have no result yet. */
  readonly unanswered: number;
  readonly isReady: boolean;
  readonly isInTurn: boolean;
  readonly questions: readonly OpenQuestion[];
  readonly dialog?: string;
  readonly end?: Extract<Activity, { readonly kind: "ended" | "failed" }>;
  /** The cost of earlier children and of the current one, in US dollars. */
  readonly costs: { readonly earlier: number; readonly current: number };
}

export type ConversationChange =
  | { readonly kind: "ready" }
  | { readonly kind: "sent" }
  /** A message got its result, or will never get one. */
  | { readonly kind: "settled" }
  | { readonly kind: "frame"; readonly frame: Frame }
  | { readonly kind: "answered"; readonly requestId: string }
  /** A dialog has appeared in the terminal, or, without `about`, is gone. */
  | { readonly kind: "dialog"; readonly about: string | undefined }
  | Extract<Activity, { readonly kind: "ended" | "failed" }>;

export function initialState(at: number): ConversationState {
  return {
    activity: { kind: "starting" },
    since: at,
    turns: 0,
    costUsd: 0,
    unanswered: 0,
    isReady: false,
    isInTurn: false,
    questions: [],
    costs: { earlier: 0, current: 0 },
  };
}

/** Applies a change to a state. `at` is the time of the change, in milliseconds since the epoch. */
export function advanceState(
  state: ConversationState,
  { at, ...change }: ConversationChange & { readonly at: number },
): ConversationState {
  const next = applyChange(state, change);
  const activity = deriveActivity(next);
  return isSameActivity(activity, state.activity)
    ? { ...next, activity: state.activity }
    : { ...next, activity, since: at };
}

function applyChange(state: ConversationState, change: ConversationChange): ConversationState {
  switch (change.kind) {
    case "ready":
      return { ...state, isReady: true };
    case "sent":
      return { ...state, unanswered: state.unanswered + 1 };
    case "settled":
      return { ...state, unanswered: Math.max(0, state.unanswered - 1) };
    case "answered":
      return removeQuestion(state, change.requestId);
    case "dialog": {
      const { dialog: _, ...others } = state;
      return change.about === undefined ? others : { ...others, dialog: change.about };
    }
    case "frame":
      return applyFrame(state, change.frame);
    case "ended":
    case "failed":
      return { ...state, end: change, questions: [], unanswered: 0, isInTurn: false };
  }
}

function applyFrame(state: ConversationState, frame: Frame): ConversationState {
  switch (frame.type) {
    case "system":
      return frame.subtype === "init"
        ? {
          ...state,
          isReady: true,
          isInTurn: true,
          sessionId: asString(frame["session_id"]) ?? "",
          ...(typeof frame["model"] === "string" ? { model: frame["model"] } : {}),
        }
        : state;
    case "assistant": {
      const text = frame.parent_tool_use_id === null ? textOf(frame.message) : "";
      return text === ""
        ? state
        : { ...state, lastMessage: text.slice(0, MAX_MESSAGE).toWellFormed() };
    }
    case "control_request":
      return { ...state, questions: [...state.questions, createQuestion(frame)] };
    case "control_cancel_request":
      return removeQuestion(state, frame.request_id);
    case "result":
      return applyResult(state, frame);
    default:
      return state;
  }
}

function textOf({ content }: { readonly content?: unknown }): string {
  return jsonObjects(content).flatMap(({ type, text }) =>
    type === "text" && typeof text === "string" ? [text] : []
  ).join("\n\n");
}

function applyResult(state: ConversationState, result: ResultFrame): ConversationState {
  const { total_cost_usd: cost, claude_limits: limits } = result;
  const { earlier, current } = state.costs;
  // The cost in a result counts from the start of its child.
  const costs = cost === undefined
    ? state.costs
    : cost < current
    ? { earlier: earlier + current, current: cost }
    : { earlier, current: cost };
  return {
    ...state,
    isReady: true,
    isInTurn: false,
    questions: [],
    turns: state.turns + 1,
    costs,
    costUsd: costs.earlier + costs.current,
    sessionId: result.session_id,
    ...(limits?.rate_limits === undefined ? {} : { rateLimits: limits.rate_limits }),
    ...(limits?.context_window === undefined ? {} : { context: limits.context_window }),
  };
}

function removeQuestion(state: ConversationState, requestId: string): ConversationState {
  return { ...state, questions: state.questions.filter((each) => each.requestId !== requestId) };
}

function createQuestion(
  { request_id: requestId, request }: Extract<Frame, { readonly type: "control_request" }>,
): OpenQuestion {
  if (request.subtype !== "can_use_tool") {
    return { kind: "permission", requestId, cause: request.subtype };
  }
  const { tool_name: toolName, input } = request;
  const about = asString(request["description"]) ?? "";
  const kind = toolName === "AskUserQuestion"
    ? "question"
    : toolName === "ExitPlanMode"
    ? "plan"
    : "permission";
  const cause = kind === "question" ? firstQuestion(input) : about;
  return {
    kind,
    requestId,
    cause: cause === "" ? toolName : `${toolName}: ${cause}`,
    toolName,
    input,
  };
}

function firstQuestion(input: unknown): string {
  const { questions } = isJsonObject(input) ? input : {};
  const [first] = Array.isArray(questions) ? questions : [];
  return isJsonObject(first) ? asString(first["question"]) ?? "" : "";
}

function deriveActivity(state: ConversationState): Activity {
  const { end, questions: [question], dialog, isReady, isInTurn, unanswered } = state;
  if (end !== undefined) return end;
  if (question !== undefined) return { kind: "waiting", question };
  if (dialog !== undefined) return { kind: "waiting", question: { kind: "dialog", cause: dialog } };
  if (!isReady) return { kind: "starting" };
  return { kind: isInTurn || unanswered > 0 ? "working" : "idle" };
}

function isSameActivity(one: Activity, other: Activity): boolean {
  if (one.kind === "waiting" && other.kind === "waiting") {
    const [a, b] = [one.question, other.question];
    return a.requestId === b.requestId && a.cause === b.cause;
  }
  return one.kind === other.kind;
}
