import { z } from "zod/mini";
import type { HeldConversation } from "../conversations/held_conversation.ts";
import { PROFILE_SCHEMA } from "../profiles.ts";
import { readBody } from "./request_body.ts";
import { isJsonObject } from "../../json_object.ts";
import type { OpenQuestion } from "../conversations/conversation_state.ts";
import { problemBody, ProblemError, problemOf } from "../problems.ts";
import type { Call, ServeContext } from "./serve_http.ts";

const OPENING = z.strictObject({
  profile: z._default(PROFILE_SCHEMA, PROFILE_SCHEMA.parse({})),
  resume: z.optional(z.string().check(z.minLength(1), z.maxLength(1000))),
});

/** Opens a conversation. */
export async function createConversation(call: Call<ServeContext>): Promise<Response> {
  const { profile, resume } = await readBody(OPENING, call);
  const held = await call.context.registry.open(profile, { resume });
  return Response.json(conversationBody(held), {
    status: 201,
    headers: { location: `/v1/conversations/${held.id}` },
  });
}

/** All conversations, the oldest first. */
export function listConversations({ context: { registry } }: Call<ServeContext>): Response {
  return Response.json({ conversations: registry.list().map(conversationBody) });
}

/** One conversation. */
export function showConversation(call: Call<ServeContext>): Response {
  return Response.json(conversationBody(heldConversation(call)));
}

/** Ends a conversation, whatever it does, and forgets it. */
export async function removeConversation(call: Call<ServeContext>): Promise<Response> {
  await call.context.registry.remove(heldConversation(call));
  return new Response(null, { status: 204 });
}

/**
 * The conversation that a path names.
 *
 * @throws {ProblemError} when there is none
 */
export function heldConversation(
  { context: { registry }, params }: Pick<Call<ServeContext>, "context" | "params">,
): HeldConversation {
  const { id = "" } = params;
  const held = registry.get(id);
  if (held !== undefined) return held;
  throw new ProblemError({
    status: 404,
    detail: `Cannot find the conversation ${JSON.stringify(id.slice(0, 100))}`,
    suggestion: "GET /v1/conversations lists those that there are",
  });
}

const MESSAGE = z.strictObject({
  content: z.union([
    z.string(),
    z.array(z.looseObject({ type: z.string() })).check(z.minLength(1), z.maxLength(1000)),
  ]),
  when: z._default(z.enum(["queue", "interrupt"]), "queue"),
  uuid: z.optional(z.uuid()),
});

/** Sends a message, which waits for the turn under way or ends it. */
export async function sendMessage(call: Call<ServeContext>): Promise<Response> {
  const held = heldConversation(call);
  const { content, when, uuid = crypto.randomUUID() } = await readBody(MESSAGE, call);
  notWhenOver(held);
  const { last } = held.log;
  await held.send(content, { uuid, priority: when === "interrupt" ? "now" : "later" });
  // Whoever reads on behind this event misses nothing of what becomes of the message.
  return Response.json({ uuid, last_event_id: last }, { status: 202 });
}

/** Stops the turn under way, if there is one. */
export async function interruptTurn(call: Call<ServeContext>): Promise<Response> {
  const held = heldConversation(call);
  notWhenOver(held);
  await held.interrupt();
  return new Response(null, { status: 204 });
}

const requestId = z.string().check(z.maxLength(1000));
const json = z.record(z.string(), z.unknown());

const ANSWER = z.union([
  z.strictObject({
    request_id: requestId,
    behavior: z.literal("allow"),
    updated_input: z.optional(json),
    updated_permissions: z.optional(z.array(json)),
  }),
  z.strictObject({
    request_id: requestId,
    behavior: z.literal("deny"),
    message: z._default(z.string(), "The user does not want this"),
    interrupt: z._default(z.boolean(), false),
  }),
  /** Of questions: the answers by the questions' words. */
  z.strictObject({ request_id: requestId, answers: z.record(z.string(), z.string()) }),
]);

type Answer = z.infer<typeof ANSWER>;

/** Answers what Claude Code asks: for a permission, a question of the model's, or about a plan. */
export async function answerQuestion(call: Call<ServeContext>): Promise<Response> {
  const held = heldConversation(call);
  const answer = await readBody(ANSWER, call);
  notWhenOver(held);
  const question = held.state.questions.find((each) => each.requestId === answer.request_id);
  const response = question && decision(answer, question);
  if (response === undefined || !held.answer(answer.request_id, response)) {
    throw new ProblemError({
      status: 409,
      detail: `Cannot answer ${JSON.stringify(answer.request_id.slice(0, 100))}: ${
        question === undefined ? "nobody asks that any more" : "it is no question with answers"
      }`,
      suggestion: 'What is asked now is the "waiting" of GET /v1/conversations/{id}',
    });
  }
  return new Response(null, { status: 204 });
}

/** What the control protocol of the Agent SDKs calls it. */
function decision(answer: Answer, { kind, input }: OpenQuestion): unknown {
  if ("answers" in answer) {
    if (kind !== "question" || !isJsonObject(input)) return undefined;
    return { behavior: "allow", updatedInput: { ...input, answers: answer.answers } };
  }
  if (answer.behavior === "deny") {
    const { behavior, message, interrupt } = answer;
    return { behavior, message, interrupt };
  }
  const { behavior, updated_input, updated_permissions } = answer;
  return {
    behavior,
    ...(updated_input === undefined ? {} : { updatedInput: updated_input }),
    ...(updated_permissions === undefined ? {} : { updatedPermissions: updated_permissions }),
  };
}

/**
 * Refuses what only a conversation that goes on can take.
 *
 * @throws {ProblemError} when it is over, with what it ended by
 */
export function notWhenOver({ state: { end } }: HeldConversation): void {
  if (end === undefined) return;
  const why = end.kind === "failed" ? problemOf(end.error).detail : "it has been ended";
  throw new ProblemError({
    status: 409,
    detail: `Cannot go on with the conversation: ${why}`,
    suggestion:
      'Begin another one; with its session_id as "resume" it goes on where this one ended',
  });
}

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
