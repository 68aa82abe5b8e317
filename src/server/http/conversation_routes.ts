import { z } from "zod/mini";
import type { ServerConversation } from "../conversations/server_conversation.ts";
import { PROFILE_SCHEMA } from "../server_profiles.ts";
import { readBody } from "./request_body.ts";
import { isJsonObject } from "../../json_object.ts";
import type { OpenQuestion } from "../conversations/conversation_state.ts";
import { type HttpProblem, problemBody, ProblemError, toProblem } from "../problems.ts";
import type { Call } from "./serve_http.ts";
import { definedFields } from "../../defined_fields.ts";

const OPEN_BODY = z.strictObject({
  profile: z._default(PROFILE_SCHEMA, PROFILE_SCHEMA.parse({})),
  resume: z.optional(z.string().check(z.minLength(1), z.maxLength(1000))),
});

export async function createConversation(call: Call): Promise<Response> {
  const { profile, resume } = await readBody(OPEN_BODY, call);
  const conversation = await call.context.registry.open(profile, { resume });
  return Response.json(formatConversation(conversation), {
    status: 201,
    headers: { location: `/v1/conversations/${conversation.id}` },
  });
}

/** Lists all conversations, the oldest first. */
export function listConversations({ context: { registry } }: Call): Response {
  return Response.json({ conversations: registry.list().map(formatConversation) });
}

export function showConversation(call: Call): Response {
  return Response.json(formatConversation(requireConversation(call)));
}

/** Ends a conversation immediately, even during a turn, and forgets it. */
export async function removeConversation(call: Call): Promise<Response> {
  await call.context.registry.remove(requireConversation(call));
  return new Response(null, { status: 204 });
}

/**
 * Finds the conversation that a path names.
 *
 * @throws {ProblemError} when there is none
 */
export function requireConversation(
  { context: { registry }, params }: Pick<Call, "context" | "params">,
): ServerConversation {
  const { id = "" } = params;
  const conversation = registry.get(id);
  if (conversation !== undefined) return conversation;
  throw new ProblemError({
    status: 404,
    detail: `Cannot find the conversation ${JSON.stringify(id.slice(0, 100))}`,
    suggestion: "GET /v1/conversations lists those that there are",
  });
}

const MESSAGE_BODY = z.strictObject({
  content: z.union([
    z.string(),
    z.array(z.looseObject({ type: z.string() })).check(z.minLength(1), z.maxLength(1000)),
  ]),
  when: z._default(z.enum(["queue", "interrupt"]), "queue"),
  uuid: z.optional(z.uuid()),
});

/** Sends a message, which waits for the running turn or interrupts it. */
export async function sendMessage(call: Call): Promise<Response> {
  const conversation = requireConversation(call);
  const { content, when, uuid = crypto.randomUUID() } = await readBody(MESSAGE_BODY, call);
  requireNotEnded(conversation);
  const { lastId } = conversation.log;
  await conversation.send(content, { uuid, priority: when === "interrupt" ? "now" : "later" });
  // A client that reads the events after this one misses nothing of the message's turn.
  return Response.json({ uuid, last_event_id: lastId }, { status: 202 });
}

/** Stops the running turn, if there is one. */
export async function interruptTurn(call: Call): Promise<Response> {
  const conversation = requireConversation(call);
  requireNotEnded(conversation);
  await conversation.interrupt();
  return new Response(null, { status: 204 });
}

const requestId = z.string().check(z.maxLength(1000));
const json = z.record(z.string(), z.unknown());

const ANSWER_BODY = z.union([
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
  /** Answers to the model's questions, by the text of each question. */
  z.strictObject({ request_id: requestId, answers: z.record(z.string(), z.string()) }),
]);

type Answer = z.infer<typeof ANSWER_BODY>;

/** Answers a permission request, a question of the model, or a plan. */
export async function answerQuestion(call: Call): Promise<Response> {
  const conversation = requireConversation(call);
  const answer = await readBody(ANSWER_BODY, call);
  requireNotEnded(conversation);
  const question = conversation.state.questions.find((each) =>
    each.requestId === answer.request_id
  );
  const response = question && toControlResponse(answer, question);
  if (response === undefined || !conversation.answer(answer.request_id, response)) {
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

/** The response in the control protocol of the Agent SDKs; undefined if the answer does not fit the question. */
function toControlResponse(answer: Answer, { kind, input }: OpenQuestion): unknown {
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
    ...definedFields({ updatedInput: updated_input, updatedPermissions: updated_permissions }),
  };
}

/** @throws {ProblemError} when the conversation has ended, with the reason of its end */
export function requireNotEnded({ state: { end } }: ServerConversation): void {
  if (end === undefined) return;
  const { detail, suggestion }: Partial<HttpProblem> = end.kind === "failed"
    ? toProblem(end.error)
    : { detail: "it has been ended" };
  throw new ProblemError({
    status: 409,
    detail: `Cannot go on with the conversation: ${detail}`,
    suggestion: suggestion ??
      'Begin another one; with its session_id as "resume" it goes on where this one ended',
  });
}

/** The JSON of a conversation. It contains no values of environment variables, because they may be secrets. */
export function formatConversation(
  { id, profile, openedAt, state, log, cassette, isTakenOver }: ServerConversation,
): Readonly<Record<string, unknown>> {
  const { activity } = state;
  return {
    id,
    state: activity.kind,
    since: new Date(state.since).toISOString(),
    ...(activity.kind === "waiting" ? { waiting: formatQuestion(activity.question) } : {}),
    ...(activity.kind === "ended" ? { exit_code: activity.exitCode } : {}),
    ...(activity.kind === "failed" ? { problem: problemBody(toProblem(activity.error)) } : {}),
    opened_at: new Date(openedAt).toISOString(),
    session_id: state.sessionId ?? null,
    model: state.model ?? null,
    last_message: state.lastMessage ?? null,
    turns: state.turns,
    total_cost_usd: state.costUsd,
    unanswered: state.unanswered,
    taken_over: isTakenOver,
    rate_limits: state.rateLimits ?? null,
    context_window: state.context ?? null,
    last_event_id: log.lastId,
    ...definedFields({ events_problem: log.problem }),
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

function formatQuestion(
  { kind, requestId, cause, toolName, input }: OpenQuestion,
): Readonly<Record<string, unknown>> {
  return {
    for: kind,
    cause,
    ...definedFields({ request_id: requestId }),
    ...(toolName === undefined ? {} : { tool_name: toolName, input }),
  };
}
