import { isJsonObject } from "../../json_object.ts";
import type { ClaudeLimits } from "../../claude/wire/claude_limits.ts";
import type { Frame } from "../../claude/wire/frame.ts";
import type { ResultFrame } from "../../claude/wire/result_frame.ts";

/** What a conversation waits for. */
export interface OpenQuestion {
  readonly kind: "permission" | "question" | "plan" | "dialog";
  /** By what it is answered; a dialog is on the screen, and answered there. */
  readonly requestId?: string;
  /** What it is about, in a line. */
  readonly cause: string;
  /** The tool that is to be called, and with what. */
  readonly toolName?: string;
  readonly input?: unknown;
}

/** What a conversation is at. */
export type Situation =
  | { readonly kind: "starting" }
  | { readonly kind: "idle" }
  | { readonly kind: "working" }
  | { readonly kind: "waiting"; readonly question: OpenQuestion }
  | { readonly kind: "ended"; readonly exitCode: number }
  | { readonly kind: "failed"; readonly error: unknown };

/** What is known of a conversation. */
export interface KnownConversation {
  readonly activity: Situation;
  /** Since when it is at that, in milliseconds since the epoch. */
  readonly since: number;
  /** The session of its last turn. */
  readonly sessionId?: string;
  readonly model?: string;
  /** How many turns have ended. */
  readonly turns: number;
  /** In US dollars, as far as it is known. */
  readonly costUsd: number;
  readonly rateLimits?: ClaudeLimits["rate_limits"];
  readonly context?: ClaudeLimits["context_window"];
  /** Messages that have no result yet. */
  readonly unanswered: number;
  readonly isReady: boolean;
  readonly isInTurn: boolean;
  readonly questions: readonly OpenQuestion[];
  readonly dialog?: string;
  readonly end?: Extract<Situation, { readonly kind: "ended" | "failed" }>;
  /** What earlier Claude Codes have cost, and what the one that lives has. */
  readonly costs: { readonly before: number; readonly now: number };
}

/** What happens to a conversation. */
export type ConversationNews =
  | { readonly kind: "ready" }
  | { readonly kind: "sent" }
  /** A message has its result, or will never have one. */
  | { readonly kind: "settled" }
  | { readonly kind: "frame"; readonly frame: Frame }
  | { readonly kind: "answered"; readonly requestId: string }
  /** The screen waits for a person, or does no more. */
  | { readonly kind: "dialog"; readonly about: string | undefined }
  | Extract<Situation, { readonly kind: "ended" | "failed" }>;

/** A conversation that has just been opened. */
export function openedState(at: number): KnownConversation {
  return {
    activity: { kind: "starting" },
    since: at,
    turns: 0,
    costUsd: 0,
    unanswered: 0,
    isReady: false,
    isInTurn: false,
    questions: [],
    costs: { before: 0, now: 0 },
  };
}

/** What is known after something has happened, at a time in milliseconds since the epoch. */
export function advanceState(
  before: KnownConversation,
  { at, ...news }: ConversationNews & { readonly at: number },
): KnownConversation {
  const next = noted(before, news);
  const activity = activityOf(next);
  return isSame(activity, before.activity)
    ? { ...next, activity: before.activity }
    : { ...next, activity, since: at };
}

function noted(state: KnownConversation, news: ConversationNews): KnownConversation {
  switch (news.kind) {
    case "ready":
      return { ...state, isReady: true };
    case "sent":
      return { ...state, unanswered: state.unanswered + 1 };
    case "settled":
      return { ...state, unanswered: Math.max(0, state.unanswered - 1) };
    case "answered":
      return without(state, news.requestId);
    case "dialog": {
      const { dialog: _, ...others } = state;
      return news.about === undefined ? others : { ...others, dialog: news.about };
    }
    case "frame":
      return withFrame(state, news.frame);
    case "ended":
    case "failed":
      return { ...state, end: news, questions: [], unanswered: 0, isInTurn: false };
  }
}

function withFrame(state: KnownConversation, frame: Frame): KnownConversation {
  switch (frame.type) {
    case "system":
      return frame.subtype === "init"
        ? {
          ...state,
          isReady: true,
          isInTurn: true,
          sessionId: textOf(frame["session_id"]),
          ...(typeof frame["model"] === "string" ? { model: frame["model"] } : {}),
        }
        : state;
    case "control_request":
      return { ...state, questions: [...state.questions, questionOf(frame)] };
    case "control_cancel_request":
      return without(state, frame.request_id);
    case "result":
      return withResult(state, frame);
    default:
      return state;
  }
}

function withResult(state: KnownConversation, result: ResultFrame): KnownConversation {
  const { total_cost_usd: cost, claude_limits: limits } = result;
  const { before, now } = state.costs;
  // What a run has cost begins anew with each Claude Code.
  const costs = cost === undefined
    ? state.costs
    : cost < now
    ? { before: before + now, now: cost }
    : { before, now: cost };
  return {
    ...state,
    isReady: true,
    isInTurn: false,
    questions: [],
    turns: state.turns + 1,
    costs,
    costUsd: costs.before + costs.now,
    sessionId: result.session_id,
    ...(limits?.rate_limits === undefined ? {} : { rateLimits: limits.rate_limits }),
    ...(limits?.context_window === undefined ? {} : { context: limits.context_window }),
  };
}

function without(state: KnownConversation, requestId: string): KnownConversation {
  return { ...state, questions: state.questions.filter((each) => each.requestId !== requestId) };
}

function questionOf(
  { request_id: requestId, request }: Extract<Frame, { readonly type: "control_request" }>,
): OpenQuestion {
  if (request.subtype !== "can_use_tool") {
    return { kind: "permission", requestId, cause: request.subtype };
  }
  const { tool_name: toolName, input } = request;
  const about = textOf(request["description"]);
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
  return isJsonObject(first) ? textOf(first["question"]) : "";
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function activityOf(state: KnownConversation): Situation {
  const { end, questions: [question], dialog, isReady, isInTurn, unanswered } = state;
  if (end !== undefined) return end;
  if (question !== undefined) return { kind: "waiting", question };
  if (dialog !== undefined) return { kind: "waiting", question: { kind: "dialog", cause: dialog } };
  if (!isReady) return { kind: "starting" };
  return { kind: isInTurn || unanswered > 0 ? "working" : "idle" };
}

function isSame(one: Situation, other: Situation): boolean {
  if (one.kind === "waiting" && other.kind === "waiting") {
    const [a, b] = [one.question, other.question];
    return a.requestId === b.requestId && a.cause === b.cause;
  }
  return one.kind === other.kind;
}
