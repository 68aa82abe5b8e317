import type { HeldConversation } from "../../conversations/held_conversation.ts";
import { ProblemError, problemOf } from "../problem.ts";

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
