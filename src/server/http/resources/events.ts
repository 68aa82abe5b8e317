import { heldConversation } from "./conversations.ts";
import type { EventLog } from "../../conversations/event_log.ts";
import { ProblemError } from "../problem.ts";
import type { Call } from "../route.ts";
import type { ServeContext } from "../serve_context.ts";

/** How often a stream says that it is there while nothing happens, in milliseconds. */
const HEARTBEAT_MS = 15_000;

/**
 * The frames of a conversation as server-sent events, from its first one, or from behind that which `Last-Event-ID`
 * names. At the end of the conversation comes an event `end`; who asks again then gets 204, at which an `EventSource`
 * asks no more.
 */
export function streamEvents(call: Call<ServeContext>): Response {
  const { log } = heldConversation(call);
  const after = firstOf(call);
  if (after > log.last) {
    throw new ProblemError({
      status: 409,
      detail: `Cannot go on behind event ${after}: the last one is ${log.last}`,
      suggestion: "Leave Last-Event-ID out to read from the first event",
    });
  }
  if (after > 0 && after === log.last && log.isOver) return new Response(null, { status: 204 });
  const gone = new AbortController();
  call.gone.addEventListener("abort", () => gone.abort(), { once: true });
  const texts = serverSentEvents(log, { after, gone: gone.signal });
  const encoder = new TextEncoder();
  // One piece is made when the reader has taken the one before: a slow one holds up nobody, and nothing in memory.
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const { done, value } = await texts.next();
      if (done === true) {
        // Nothing is waited for any more.
        gone.abort();
        controller.close();
      } else controller.enqueue(encoder.encode(value));
    },
    cancel: async () => {
      gone.abort();
      await texts.return(undefined);
    },
  }, { highWaterMark: 0 });
  return new Response(body, {
    headers: { "content-type": "text/event-stream", "cache-control": "no-store" },
  });
}

/** The pieces of a stream of events. */
async function* serverSentEvents(
  log: EventLog,
  { after, gone }: { readonly after: number; readonly gone: AbortSignal },
): AsyncGenerator<string, undefined> {
  yield ": the conversation's frames\n\n";
  const events = log.read(after, gone);
  let next = events.next();
  let beat = heartbeat(gone);
  for (;;) {
    const event = await Promise.race([next, beat]);
    if (event === undefined) {
      if (gone.aborted) return;
      yield ": \n\n";
      beat = heartbeat(gone);
      continue;
    }
    if (event.done === true) break;
    yield `id: ${event.value.id}\ndata: ${event.value.text}\n\n`;
    next = events.next();
  }
  if (gone.aborted) return;
  const detail = log.problem;
  yield detail === undefined
    ? "event: end\ndata: {}\n\n"
    : `event: problem\ndata: ${JSON.stringify({ detail })}\n\n`;
}

function heartbeat(gone: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, HEARTBEAT_MS);
    gone.addEventListener("abort", done, { once: true });
    function done() {
      clearTimeout(timer);
      gone.removeEventListener("abort", done);
      resolve(undefined);
    }
  });
}

/** The number of the event behind which the reader goes on. */
function firstOf({ request, url }: Call<ServeContext>): number {
  const said = request.headers.get("last-event-id") ?? url.searchParams.get("last_event_id") ?? "0";
  if (/^\d{1,15}$/u.test(said)) return Number(said);
  throw new ProblemError({
    status: 400,
    detail: `Cannot go on behind event ${JSON.stringify(said.slice(0, 100))}: it is no number`,
    suggestion: "Give as Last-Event-ID the id of the last event that was read",
  });
}
