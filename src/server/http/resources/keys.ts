import { heldConversation } from "./conversations.ts";
import { notWhenOver } from "./not_when_over.ts";
import { ProblemError } from "../problem.ts";
import type { Call } from "../route.ts";
import type { ServeContext } from "../serve_context.ts";

/**
 * Types in a conversation's terminal what comes in the body, as it comes: the conversation is taken over as long as the
 * request lasts, and handed back by its end, whatever ends it.
 */
export async function typeKeys(call: Call<ServeContext>): Promise<Response> {
  const held = heldConversation(call);
  const { request, gone } = call;
  const type = request.headers.get("content-type");
  // A page of the web can send anything else without being asked first.
  if (type !== "application/octet-stream") {
    throw new ProblemError({
      status: 415,
      detail: `Cannot type the body: it is ${type ?? "of no type"}, not application/octet-stream`,
      suggestion: "Send the header Content-Type: application/octet-stream",
    });
  }
  notWhenOver(held);
  using _taken = held.takeOver();
  const reader = request.body?.getReader();
  const cancel = () => void reader?.cancel().catch(() => {});
  gone.addEventListener("abort", cancel, { once: true });
  try {
    for (;;) {
      const { done, value } = await reader?.read() ?? { done: true as const, value: undefined };
      if (done) break;
      notWhenOver(held);
      if (held.terminal === undefined) {
        throw new ProblemError({
          status: 409,
          detail: "Cannot type in the conversation: its Claude Code has not been started yet",
          suggestion: "Send a message first, or wait a moment",
        });
      }
      held.terminal.type(value);
    }
  } catch (error) {
    // Whoever was cut off reads no answer.
    if (error instanceof ProblemError) throw error;
  } finally {
    gone.removeEventListener("abort", cancel);
  }
  return new Response(null, { status: 204 });
}
