import { heldConversation, notWhenOver } from "./conversation_routes.ts";
import { renderScreen } from "../../driver/effects/render_screen.ts";
import { drawScreen } from "../../recording/picture/draw_screen.ts";
import type { EventLog } from "../conversations/event_log.ts";
import { ProblemError } from "../problems.ts";
import type { Call, ServeContext } from "./serve_http.ts";
import { RegularFile } from "../../../ffi/files/regular_file.ts";

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

const BLOCK = 512;
const PIECE = 64 * 1024;

/**
 * A folder as a tar archive (POSIX ustar), in pieces. A file that grows meanwhile is in it as long as it was when it came to
 * it; what is neither a file nor a folder is left out, and so is what is gone by then.
 *
 * @param name what the folder is called in it
 */
function* tarOf(folder: string, name: string): Generator<Uint8Array, undefined> {
  yield* folderIn(folder, name);
  yield new Uint8Array(2 * BLOCK);
}

function* folderIn(path: string, name: string): Generator<Uint8Array> {
  let entries: readonly Deno.DirEntry[];
  try {
    entries = [...Deno.readDirSync(path)].toSorted((a, b) => a.name < b.name ? -1 : 1);
  } catch {
    return;
  }
  yield header({ name: `${name}/`, size: 0, type: "5", mode: "0000700" });
  for (const entry of entries) {
    const inner = { path: `${path}/${entry.name}`, name: `${name}/${entry.name}` };
    if (entry.isDirectory) yield* folderIn(inner.path, inner.name);
    else if (entry.isFile) yield* fileIn(inner.path, inner.name);
  }
}

function* fileIn(path: string, name: string): Generator<Uint8Array> {
  let opened: RegularFile;
  try {
    opened = new RegularFile(path);
  } catch {
    return;
  }
  using file = opened;
  const { size } = file;
  yield header({ name, size, type: "0", mode: "0000600" });
  for (let at = 0; at < size;) {
    const piece = new Uint8Array(Math.min(PIECE, size - at));
    const count = file.read(piece, at);
    // Of one that was cut meanwhile zeros stand for the rest: its length has been said.
    at += count === 0 ? piece.length : count;
    yield count === 0 ? piece : piece.subarray(0, count);
  }
  yield new Uint8Array((BLOCK - size % BLOCK) % BLOCK);
}

/** The fields of a ustar header: where each stands, and how long it is. */
const FIELDS = {
  name: [0, 100],
  mode: [100, 8],
  uid: [108, 8],
  gid: [116, 8],
  size: [124, 12],
  mtime: [136, 12],
  sum: [148, 8],
  type: [156, 1],
  magic: [257, 8],
} as const;

function header(
  { name, size, type, mode }: {
    readonly name: string;
    readonly size: number;
    readonly type: "0" | "5";
    readonly mode: string;
  },
): Uint8Array {
  const block = new Uint8Array(BLOCK);
  const encoder = new TextEncoder();
  const set = (field: keyof typeof FIELDS, text: string) => {
    const [at, length] = FIELDS[field];
    encoder.encodeInto(text, block.subarray(at, at + length));
  };
  set("name", name);
  set("mode", mode);
  set("uid", "0000000");
  set("gid", "0000000");
  set("size", size.toString(8).padStart(11, "0"));
  set("mtime", Math.floor(Date.now() / 1000).toString(8).padStart(11, "0"));
  set("type", type);
  set("magic", "ustar\0" + "00");
  set("sum", "        ");
  const sum = block.reduce((total, byte) => total + byte, 0);
  set("sum", `${sum.toString(8).padStart(6, "0")}\0 `);
  return block;
}
