import { z } from "zod/mini";
import { readBody } from "../body.ts";
import { heldConversation } from "./conversations.ts";
import { notWhenOver } from "./not_when_over.ts";
import type { Call } from "../route.ts";
import type { ServeContext } from "../serve_context.ts";

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
