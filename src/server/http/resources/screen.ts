import { renderScreen } from "../../../driver/effects/render_screen.ts";
import { drawScreen } from "../../../recording/picture/draw_screen.ts";
import { heldConversation } from "./conversations.ts";
import { ProblemError } from "../problem.ts";
import type { Call } from "../route.ts";
import type { ServeContext } from "../serve_context.ts";

/** What Claude Code's terminal shows: as text, or as a picture for who asks for `?format=svg` or accepts nothing else. */
export async function showScreen(call: Call<ServeContext>): Promise<Response> {
  const { terminal } = heldConversation(call);
  const format = formatOf(call);
  if (terminal === undefined) {
    throw new ProblemError({
      status: 409,
      detail: "Cannot show the screen: no Claude Code has been started yet",
      suggestion: "Send a message first, or wait a moment",
    });
  }
  const chunks = terminal.chunks();
  const headers = { "cache-control": "no-store", "x-content-type-options": "nosniff" };
  if (format === "svg") {
    return new Response(await drawScreen(chunks, terminal.size), {
      headers: { ...headers, "content-type": "image/svg+xml" },
    });
  }
  const { lines } = await renderScreen(chunks, terminal.size);
  return new Response(`${lines.join("\n").trimEnd()}\n`, {
    headers: { ...headers, "content-type": "text/plain; charset=utf-8" },
  });
}

function formatOf({ request, url }: Call<ServeContext>): "text" | "svg" {
  const named = url.searchParams.get("format");
  if (named === "text" || named === "svg") return named;
  if (named === null) {
    return request.headers.get("accept")?.startsWith("image/svg+xml") ? "svg" : "text";
  }
  throw new ProblemError({
    status: 400,
    detail: `Cannot show the screen as ${JSON.stringify(named.slice(0, 100))}`,
    suggestion: "Ask for format=text or format=svg",
  });
}
