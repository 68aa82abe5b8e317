import { z } from "zod/mini";
import type { OpenQuestion } from "../../conversations/conversation_state.ts";
import { isJsonObject } from "../../../json_object.ts";
import { readBody } from "../body.ts";
import { heldConversation } from "./conversations.ts";
import { notWhenOver } from "./not_when_over.ts";
import { ProblemError } from "../problem.ts";
import type { Call } from "../route.ts";
import type { ServeContext } from "../serve_context.ts";

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
