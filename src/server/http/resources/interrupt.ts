import { heldConversation } from "./conversations.ts";
import { notWhenOver } from "./not_when_over.ts";
import type { Call } from "../route.ts";
import type { ServeContext } from "../serve_context.ts";

/** Stops the turn under way, if there is one. */
export async function interruptTurn(call: Call<ServeContext>): Promise<Response> {
  const held = heldConversation(call);
  notWhenOver(held);
  await held.interrupt();
  return new Response(null, { status: 204 });
}
