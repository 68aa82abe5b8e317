import type { Call } from "../route.ts";
import type { ServeContext } from "../serve_context.ts";

/** Whether the server is there, and what it is. */
export function health({ context: { version } }: Call<ServeContext>): Response {
  return Response.json({ status: "ok", version });
}
