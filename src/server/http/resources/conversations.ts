import { z } from "zod/mini";
import type { HeldConversation } from "../../conversations/held_conversation.ts";
import { PROFILE_SCHEMA } from "../../conversations/profile.ts";
import { readBody } from "../body.ts";
import { conversationBody } from "./conversation_body.ts";
import { ProblemError } from "../problem.ts";
import type { Call } from "../route.ts";
import type { ServeContext } from "../serve_context.ts";

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
