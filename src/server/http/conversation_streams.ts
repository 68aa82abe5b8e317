import { requireConversation, requireNotEnded } from "./conversation_routes.ts";
import { renderScreen } from "../../conversation/terminal/headless_terminal.ts";
import { withoutOwnNotice } from "../../conversation/terminal/screen.ts";
import { drawScreen } from "../../recording/picture/draw_screen.ts";
import type { EventLog } from "../conversations/event_log.ts";
import { ProblemError } from "../problems.ts";
import type { Call } from "./serve_http.ts";
import { RegularFile } from "../../../ffi/files/regular_file.ts";

/**
 * Creates a body whose next piece is created when the client has read the last one, so that a slow client needs no
 * memory.
 */
export function streamPieces({ next, cancel }: {
  /** Returns the next piece, or undefined at the end. */
  readonly next: () => Piece | undefined | Promise<Piece | undefined>;
  readonly cancel: () => void | Promise<void>;
}): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const piece = await next();
      if (piece === undefined) controller.close();
      else controller.enqueue(typeof piece === "string" ? encoder.encode(piece) : piece);
    },
    cancel,
  }, { highWaterMark: 0 });
}

type Piece = string | Uint8Array;

/** The interval at which a stream without events sends a comment, in milliseconds. */
const HEARTBEAT_MS = 15_000;

/**
 * Streams the frames of a conversation as server-sent events: all, or those after `Last-Event-ID`.
 *
 * After the last frame follows an event `end`. A client that connects again gets 204, after which an `EventSource`
 * stops.
 */
export function streamEvents(call: Call): Response {
  const { log } = requireConversation(call);
  const after = readLastEventId(call);
  if (after > log.lastId) {
    throw new ProblemError({
      status: 409,
      detail: `Cannot go on behind event ${after}: the last one is ${log.lastId}`,
      suggestion: "Leave Last-Event-ID out to read from the first event",
    });
  }
  if (after > 0 && after === log.lastId && log.hasEnded) return new Response(null, { status: 204 });
  const gone = new AbortController();
  call.gone.addEventListener("abort", () => gone.abort(), { once: true });
  const texts = serverSentEvents(log, { after, gone: gone.signal });
  const body = streamPieces({
    next: async () => {
      const { done, value } = await texts.next();
      // Ends the heartbeat.
      if (done === true) gone.abort();
      return value;
    },
    cancel: async () => {
      gone.abort();
      await texts.return(undefined);
    },
  });
  return new Response(body, {
    headers: { "content-type": "text/event-stream", "cache-control": "no-store" },
  });
}

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

function readLastEventId({ request, url }: Call): number {
  const named = request.headers.get("last-event-id") ?? url.searchParams.get("last_event_id") ??
    "0";
  if (/^\d{1,15}$/u.test(named)) return Number(named);
  throw new ProblemError({
    status: 400,
    detail: `Cannot go on behind event ${JSON.stringify(named.slice(0, 100))}: it is no number`,
    suggestion: "Give as Last-Event-ID the id of the last event that was read",
  });
}

/** Shows the child's screen: as text, or as SVG for `?format=svg` or a request that prefers SVG. */
export async function showScreen(call: Call): Promise<Response> {
  const { terminal } = requireConversation(call);
  const format = readScreenFormat(call);
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
  return new Response(`${withoutOwnNotice(lines).join("\n").trimEnd()}\n`, {
    headers: { ...headers, "content-type": "text/plain; charset=utf-8" },
  });
}

function readScreenFormat({ request, url }: Call): "text" | "svg" {
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
 * Types the body into the child's terminal as it arrives. Until the request ends for any reason, the conversation is
 * taken over and refuses messages.
 */
export async function typeKeys(call: Call): Promise<Response> {
  const conversation = requireConversation(call);
  const { request, gone } = call;
  const type = request.headers.get("content-type");
  // A web page can send any other type to this server without a preflight request.
  if (type !== "application/octet-stream") {
    throw new ProblemError({
      status: 415,
      detail: `Cannot type the body: it is ${type ?? "of no type"}, not application/octet-stream`,
      suggestion: "Send the header Content-Type: application/octet-stream",
    });
  }
  requireNotEnded(conversation);
  using _taken = conversation.takeOver();
  const reader = request.body?.getReader();
  const cancel = () => void reader?.cancel().catch(() => {});
  gone.addEventListener("abort", cancel, { once: true });
  try {
    for (;;) {
      const { done, value } = await reader?.read() ?? { done: true as const, value: undefined };
      if (done) break;
      requireNotEnded(conversation);
      if (conversation.terminal === undefined) {
        throw new ProblemError({
          status: 409,
          detail: "Cannot type in the conversation: its Claude Code has not been started yet",
          suggestion: "Send a message first, or wait a moment",
        });
      }
      conversation.terminal.type(value);
    }
  } catch (error) {
    // The client has disconnected and reads no answer.
    if (error instanceof ProblemError) throw error;
  } finally {
    gone.removeEventListener("abort", cancel);
  }
  return new Response(null, { status: 204 });
}

/** Sends the recorded part of a conversation's cassette, as a tar archive. */
export function showCassette(call: Call): Response {
  const { id, cassette } = requireConversation(call);
  if (cassette === undefined) {
    throw new ProblemError({
      status: 409,
      detail: "Cannot give the cassette: the conversation is not recorded",
      suggestion: 'Open one with "record": true in its profile',
    });
  }
  const pieces = createTar(cassette, `${id}.cassette`);
  const body = streamPieces({
    next: () => pieces.next().value,
    cancel: () => void pieces.return(undefined),
  });
  return new Response(body, {
    headers: {
      "content-type": "application/x-tar",
      "content-disposition": `attachment; filename="${id}.tar"`,
    },
  });
}

const BLOCK_BYTES = 512;
const PIECE_BYTES = 64 * 1024;

/**
 * Creates a tar archive (POSIX ustar) of a folder, in pieces. A file that grows in the meantime has the size that it
 * had when the archive reached it. Entries that are neither files nor folders are left out, and so are files that were
 * removed in the meantime.
 *
 * @param name the folder's name in the archive
 */
function* createTar(folder: string, name: string): Generator<Uint8Array, undefined> {
  yield* tarFolder(folder, name);
  yield new Uint8Array(2 * BLOCK_BYTES);
}

function* tarFolder(path: string, name: string): Generator<Uint8Array> {
  let entries: readonly Deno.DirEntry[];
  try {
    entries = [...Deno.readDirSync(path)].toSorted((a, b) => a.name < b.name ? -1 : 1);
  } catch {
    return;
  }
  yield tarHeader({ name: `${name}/`, size: 0, type: "5", mode: "0000700" });
  for (const entry of entries) {
    const inner = { path: `${path}/${entry.name}`, name: `${name}/${entry.name}` };
    if (entry.isDirectory) yield* tarFolder(inner.path, inner.name);
    else if (entry.isFile) yield* tarFile(inner.path, inner.name);
  }
}

function* tarFile(path: string, name: string): Generator<Uint8Array> {
  let opened: RegularFile;
  try {
    opened = new RegularFile(path);
  } catch {
    return;
  }
  using file = opened;
  const { size } = file;
  yield tarHeader({ name, size, type: "0", mode: "0000600" });
  for (let at = 0; at < size;) {
    const piece = new Uint8Array(Math.min(PIECE_BYTES, size - at));
    const count = file.read(piece, at);
    // A file that was truncated in the meantime is filled with zeros, because its header already has the size.
    at += count === 0 ? piece.length : count;
    yield count === 0 ? piece : piece.subarray(0, count);
  }
  yield new Uint8Array((BLOCK_BYTES - size % BLOCK_BYTES) % BLOCK_BYTES);
}

/** Offset and length of the fields of a ustar header. */
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

function tarHeader(
  { name, size, type, mode }: {
    readonly name: string;
    readonly size: number;
    readonly type: "0" | "5";
    readonly mode: string;
  },
): Uint8Array {
  const block = new Uint8Array(BLOCK_BYTES);
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
