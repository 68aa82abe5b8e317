import { heldConversation } from "./conversations.ts";
import { ProblemError } from "../problem.ts";
import type { Call } from "../route.ts";
import type { ServeContext } from "../serve_context.ts";
import { tarOf } from "./tar.ts";

/** The recording of a conversation, as far as it is, as a tar archive with the folder in it. */
export function showCassette(call: Call<ServeContext>): Response {
  const { id, cassette } = heldConversation(call);
  if (cassette === undefined) {
    throw new ProblemError({
      status: 409,
      detail: "Cannot give the cassette: the conversation is not recorded",
      suggestion: 'Open one with "record": true in its profile',
    });
  }
  const pieces = tarOf(cassette, `${id}.cassette`);
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      const { done, value } = pieces.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
    cancel: () => void pieces.return(undefined),
  }, { highWaterMark: 0 });
  return new Response(body, {
    headers: {
      "content-type": "application/x-tar",
      "content-disposition": `attachment; filename="${id}.tar"`,
    },
  });
}
