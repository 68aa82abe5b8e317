import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { Readable } from "node:stream";
import { CliError } from "../cli_error.ts";
import { escapeInvisible } from "../recording/redaction/visible_text.ts";
import type { Environment } from "../sandbox/environment.ts";
import { whyForeign } from "../sandbox/folder/run_places.ts";
import { type ServerPlaces, serverPlaces } from "./server_places.ts";
import { z } from "zod/mini";

/** This user has no server. */
export class NoServerError extends CliError {}

interface RequestOptions {
  /** The body of a POST request, which is sent as it arrives. A request without a body is a GET. */
  readonly body?: ReadableStream<Uint8Array<ArrayBuffer>>;
  /** The body of a POST request, which is sent as JSON. */
  readonly json?: unknown;
  /** The method of a request without a body; GET by default. */
  readonly method?: "GET" | "POST" | "DELETE";
  readonly signal?: AbortSignal;
}

/**
 * The HTTP client of this user's server, on its socket.
 *
 * It uses `node:http`, because Deno's own client ignores the socket when NO_PROXY has the requested host.
 */
export class ServerClient {
  readonly #socketPath: string;

  /**
   * @throws {NoServerError} when there is no server
   * @throws {CliError} when its folder cannot be trusted
   */
  constructor(env: Environment) {
    const { folder, httpSocket } = serverPlaces(env);
    requireTrustedServer({ folder, httpSocket });
    this.#socketPath = httpSocket;
  }

  /** @throws {CliError} when the server does not answer, or answers with a problem, whose text the error has */
  async request(
    path: string,
    { body, json, method = "GET", signal }: RequestOptions = {},
  ): Promise<Response> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const type = body !== undefined
      ? "application/octet-stream"
      : json !== undefined
      ? "application/json"
      : undefined;
    const sent = request({
      socketPath: this.#socketPath,
      path,
      ...(signal === undefined ? {} : { signal }),
      ...(type === undefined ? { method } : { method: "POST", headers: { "content-type": type } }),
    }, resolve);
    sent.on("error", reject);
    if (body !== undefined) send(body, sent).catch(reject);
    else sent.end(json === undefined ? undefined : JSON.stringify(json));
    let answer: Response;
    try {
      answer = toResponse(await promise);
    } catch (error) {
      if (signal?.aborted) throw error;
      throw noAnswerError(error);
    }
    if (!answer.ok) throw await readRefusal(answer);
    return answer;
  }
}

async function send(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  to: ClientRequest,
): Promise<void> {
  to.flushHeaders();
  for await (const bytes of body) to.write(bytes);
  to.end();
}

function toResponse(answer: IncomingMessage): Response {
  const { statusCode: status = 500, headers } = answer;
  // `Response` does not accept a body for status 204.
  if (status === 204) return new Response(null, { status });
  const body = Readable.toWeb(answer) as ReadableStream<Uint8Array<ArrayBuffer>>;
  return new Response(body, {
    status,
    headers: { "content-type": headers["content-type"] ?? "" },
  });
}

function requireTrustedServer(
  { folder, httpSocket }: Pick<ServerPlaces, "folder" | "httpSocket">,
): void {
  let foreign: string | undefined;
  try {
    foreign = whyForeign(folder);
    if (foreign === undefined) Deno.lstatSync(httpSocket);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new NoServerError("No server is running", {
      suggestion: "Start one: claude-print serve",
      cause: error,
    });
  }
  if (foreign === undefined) return;
  throw new CliError(`Cannot ask the server: ${folder} cannot be trusted: ${foreign}`, {
    suggestion: "Remove it, or set XDG_RUNTIME_DIR or TMPDIR to a folder of your own",
  });
}

export function noAnswerError(cause: unknown): CliError {
  return new CliError("Cannot ask the server: it does not answer", {
    suggestion: "Start it again: claude-print serve",
    cause,
  });
}

/** Converts a problem of RFC 9457 into an error of the command line. */
async function readRefusal(answer: Response): Promise<CliError> {
  const { detail, suggestion } = await readProblem(answer);
  return new CliError(
    typeof detail === "string" && detail !== ""
      ? escapeInvisible(detail)
      : `Cannot ask the server: it answers ${answer.status}`,
    {
      suggestion: typeof suggestion === "string"
        ? escapeInvisible(suggestion)
        : '"claude-print ps" lists the conversations',
    },
  );
}

async function readProblem(
  answer: Response,
): Promise<{ readonly detail?: unknown; readonly suggestion?: unknown }> {
  try {
    return await answer.json() ?? {};
  } catch {
    return {};
  }
}

const CONVERSATION = z.looseObject({
  id: z.string(),
  state: z.string(),
  since: z.string(),
  waiting: z.optional(z.looseObject({
    for: z.string(),
    cause: z.string(),
    request_id: z.optional(z.string()),
    input: z.optional(z.unknown()),
  })),
  problem: z.optional(z.looseObject({ detail: z.string(), suggestion: z.optional(z.string()) })),
  turns: z.number(),
  total_cost_usd: z.number(),
  last_event_id: z.number(),
  cwd: z.optional(z.string()),
});

const CONVERSATIONS = z.looseObject({ conversations: z.array(CONVERSATION) });

const STATUS = z.looseObject({
  version: z.string(),
  pid: z.number(),
  started_at: z.string(),
  state: z.string(),
  socket: z.string(),
  url: z.optional(z.string()),
  token_file: z.optional(z.string()),
  conversations: z.number(),
  runs: z.number(),
  limit: z.number(),
  warm_children: z.array(z.looseObject({ state: z.string(), since: z.string(), cwd: z.string() })),
});

/** The status of a server, with further fields. */
export type ServerStatus = z.infer<typeof STATUS>;

/** A conversation in the server's list, with further fields. */
export type ConversationSummary = z.infer<typeof CONVERSATION>;

/**
 * Fetches the server's conversations, the oldest first.
 *
 * @throws {CliError} when the server does not answer, or its answer is invalid
 */
export async function fetchConversations(
  server: ServerClient,
): Promise<readonly ConversationSummary[]> {
  return (await fetchParsed(server, "/v1/conversations", CONVERSATIONS)).conversations;
}

/** @throws {CliError} when the server does not answer, or its answer is invalid */
export async function fetchStatus(server: ServerClient): Promise<ServerStatus> {
  return await fetchParsed(server, "/v1/server", STATUS);
}

async function fetchParsed<Parsed>(
  server: ServerClient,
  path: string,
  schema: z.ZodMiniType<Parsed>,
): Promise<Parsed> {
  const answer = await server.request(path);
  const parsed = schema.safeParse(await answer.json().catch(() => undefined));
  if (parsed.success) return parsed.data;
  throw new CliError("Cannot understand the server: it is of another version", {
    suggestion: "Start it again with this claude-print",
  });
}

/**
 * Fetches the only conversation whose id begins with `beginning`.
 *
 * @throws {CliError} when there is none, or more than one
 */
export async function fetchConversation(
  server: ServerClient,
  beginning: string,
): Promise<ConversationSummary> {
  const all = await fetchConversations(server);
  const fitting = all.filter(({ id }) => id.startsWith(beginning));
  const [one] = fitting;
  if (one !== undefined && fitting.length === 1) return one;
  throw new CliError(
    one === undefined
      ? `Cannot find the conversation "${beginning}"`
      : `Cannot tell which conversation is meant by "${beginning}": there are ${fitting.length}`,
    {
      suggestion:
        '"claude-print ps" lists the conversations; as much of an id will do as is its own',
    },
  );
}

/** The path of a conversation. */
export function conversationPath(id: string): string {
  return `/v1/conversations/${encodeURIComponent(id)}`;
}

/**
 * Yields the frames of a conversation as JSON.
 *
 * @param options.after the number of an event; 0 for all
 * @param options.last the number of the last event to read; Infinity to read until the conversation ends
 * @throws {CliError} when the server does not answer, or has lost frames
 */
export async function* readFrames(
  server: ServerClient,
  id: string,
  { after = 0, last }: { readonly after?: number; readonly last: number },
): AsyncGenerator<string> {
  if (last <= after) return;
  const gone = new AbortController();
  const path = `${conversationPath(id)}/events?last_event_id=${after}`;
  const { body } = await server.request(path, { signal: gone.signal });
  try {
    if (body === null) throw new TypeError("There is no body");
    for await (const event of parseServerEvents(body)) {
      if (event.event === "end") return;
      if (event.event === "problem") throw lostFramesError(event.data);
      yield event.data;
      if (Number(event.id) >= last) return;
    }
  } catch (error) {
    throw error instanceof CliError ? error : noAnswerError(error);
  } finally {
    gone.abort();
  }
  throw noAnswerError(undefined);
}

function lostFramesError(data: string): CliError {
  const [, detail = "the server has lost them"] = /"detail":"((?:[^"\\]|\\.)*)"/u.exec(data) ?? [];
  return new CliError(`Cannot print all frames: ${detail}`, {
    suggestion: "Make room on the disk of the server's TMPDIR",
  });
}

/** A server-sent event of the HTML standard. */
interface ServerEvent {
  /** The last id in the stream; empty before the first one. */
  readonly id: string;
  readonly event: string;
  readonly data: string;
}

/** The maximum length of a line of an event, in UTF-16 units. */
const MAX_LINE = 64 * 1024 * 1024;

/**
 * Yields the events of a stream. Ignores an event that the end of the stream cuts off.
 *
 * @throws {RangeError} for a longer line than our server sends
 */
export async function* parseServerEvents(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<ServerEvent> {
  let id = "";
  let event = "";
  let data: string[] = [];
  for await (const line of linesOf(body)) {
    if (line === "") {
      if (data.length > 0) {
        yield { id, event: event === "" ? "message" : event, data: data.join("\n") };
      }
      [event, data] = ["", []];
      continue;
    }
    const [, name = "", value = ""] = /^([^:]*)(?::[ ]?(.*))?$/su.exec(line) ?? [];
    if (name === "data") data.push(value);
    else if (name === "event") event = value;
    else if (name === "id" && !value.includes("\0")) id = value;
  }
}

async function* linesOf(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<string> {
  const pieces: string[] = [];
  let length = 0;
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    const [first = "", ...others] = text.split("\n");
    pieces.push(first);
    length += first.length;
    if (length > MAX_LINE) throw new RangeError("The server tells an event that is too long");
    for (const other of others) {
      yield pieces.join("").replace(/\r$/u, "");
      pieces.splice(0, pieces.length, other);
      length = other.length;
    }
  }
}
