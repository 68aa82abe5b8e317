import type { OpenQuestion } from "../../conversations/conversation_state.ts";
import type { HeldConversation } from "../../conversations/held_conversation.ts";
import { problemBody, problemOf } from "../problem.ts";

/** A conversation as it stands in answers. Values of variables are secrets, and not told again. */
export function conversationBody(
  { id, profile, openedAt, state, log, cassette, isTakenOver }: HeldConversation,
): Readonly<Record<string, unknown>> {
  const { activity } = state;
  return {
    id,
    state: activity.kind,
    since: new Date(state.since).toISOString(),
    ...(activity.kind === "waiting" ? { waiting: waitingBody(activity.question) } : {}),
    ...(activity.kind === "ended" ? { exit_code: activity.exitCode } : {}),
    ...(activity.kind === "failed" ? { problem: problemBody(problemOf(activity.error)) } : {}),
    opened_at: new Date(openedAt).toISOString(),
    session_id: state.sessionId ?? null,
    model: state.model ?? null,
    turns: state.turns,
    total_cost_usd: state.costUsd,
    unanswered: state.unanswered,
    taken_over: isTakenOver,
    rate_limits: state.rateLimits ?? null,
    context_window: state.context ?? null,
    last_event_id: log.last,
    ...(log.problem === undefined ? {} : { events_problem: log.problem }),
    recorded: cassette !== undefined,
    cwd: profile.cwd,
    profile: {
      args: profile.args,
      env: Object.keys(profile.env),
      asks: profile.asks,
      replay_user_messages: profile.replay_user_messages,
    },
  };
}

function waitingBody(
  { kind, requestId, cause, toolName, input }: OpenQuestion,
): Readonly<Record<string, unknown>> {
  return {
    for: kind,
    cause,
    ...(requestId === undefined ? {} : { request_id: requestId }),
    ...(toolName === undefined ? {} : { tool_name: toolName, input }),
  };
}
