import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { Readable } from "node:stream";
import { CliError } from "../cli_error.ts";
import { escapeInvisible } from "../recording/redaction/visible_text.ts";
import type { Environment } from "../sandbox/environment.ts";
import { whyForeign } from "../sandbox/places/why_foreign.ts";
import { type ServerPlaces, serverPlaces } from "./server_places.ts";
import { z } from "zod/mini";

/** What is asked of a server, beside the path. */
interface AskOptions {
  /** What is posted, as it comes. */
  readonly body?: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly signal?: AbortSignal;
}

/**
 * Asks the server of this user by HTTP, on its socket.
 *
 * By `node:http`, because Deno's own client goes past a socket where NO_PROXY names the host that is asked.
 */
export class ServerClient {
  readonly #socketPath: string;

  /** @throws {CliError} when no server is there, or somebody else may be */
  constructor(env: Environment) {
    const { folder, httpSocket } = serverPlaces(env);
    requireOwn({ folder, httpSocket });
    this.#socketPath = httpSocket;
  }

  /** @throws {CliError} when it refuses, with what it says, and when it cannot be asked */
  async ask(path: string, { body, signal }: AskOptions = {}): Promise<Response> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const sent = request({
      socketPath: this.#socketPath,
      path,
      ...(signal === undefined ? {} : { signal }),
      ...(body === undefined
        ? {}
        : { method: "POST", headers: { "content-type": "application/octet-stream" } }),
    }, resolve);
    sent.on("error", reject);
    if (body === undefined) sent.end();
    else send(body, sent).catch(reject);
    let answer: Response;
    try {
      answer = asResponse(await promise);
    } catch (error) {
      if (signal?.aborted) throw error;
      throw goneError(error);
    }
    if (!answer.ok) throw await refusal(answer);
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

function asResponse(answer: IncomingMessage): Response {
  const { statusCode: status = 500, headers } = answer;
  // An answer without a body may not be given an empty one.
  if (status === 204) return new Response(null, { status });
  const body = Readable.toWeb(answer) as ReadableStream<Uint8Array<ArrayBuffer>>;
  return new Response(body, {
    status,
    headers: { "content-type": headers["content-type"] ?? "" },
  });
}

function requireOwn({ folder, httpSocket }: Pick<ServerPlaces, "folder" | "httpSocket">): void {
  let foreign: string | undefined;
  try {
    foreign = whyForeign(folder);
    if (foreign === undefined) Deno.lstatSync(httpSocket);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new CliError("Cannot ask the server: there is none", {
      suggestion: "Start one: claude-print serve",
      cause: error,
    });
  }
  if (foreign === undefined) return;
  throw new CliError(`Cannot ask the server: ${folder} cannot be trusted: ${foreign}`, {
    suggestion: "Remove it, or set XDG_RUNTIME_DIR or TMPDIR to a folder of your own",
  });
}

/** The server does not answer, or no longer. */
export function goneError(cause: unknown): CliError {
  return new CliError("Cannot ask the server: it does not answer", {
    suggestion: "Start it again: claude-print serve",
    cause,
  });
}

/** What a problem of RFC 9457 says, in the words of the command line. */
async function refusal(answer: Response): Promise<CliError> {
  const { detail, suggestion } = await problemIn(answer);
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

async function problemIn(
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
  waiting: z.optional(z.looseObject({ for: z.string(), cause: z.string() })),
  turns: z.number(),
  total_cost_usd: z.number(),
  last_event_id: z.number(),
  cwd: z.optional(z.string()),
});

const CONVERSATIONS = z.looseObject({ conversations: z.array(CONVERSATION) });

/** A conversation as the server tells of it, with whatever else it tells. */
export type ToldConversation = z.infer<typeof CONVERSATION>;

/**
 * The conversations that a server holds, the oldest first.
 *
 * @throws {CliError} when it cannot be asked, or tells something else
 */
export async function toldConversations(
  server: ServerClient,
): Promise<readonly ToldConversation[]> {
  const answer = await server.ask("/v1/conversations");
  const told = CONVERSATIONS.safeParse(await answer.json().catch(() => undefined));
  if (told.success) return told.data.conversations;
  throw new CliError("Cannot understand the server: it is of another version", {
    suggestion: "Start it again with this claude-print",
  });
}

/**
 * The one conversation whose id begins as is said.
 *
 * @throws {CliError} when there is none, or more than one
 */
export async function toldConversation(
  server: ServerClient,
  beginning: string,
): Promise<ToldConversation> {
  const all = await toldConversations(server);
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

/** An event of a stream as HTML's standard on server-sent events has it. */
interface ServerEvent {
  /** The last id that was told; empty where none was. */
  readonly id: string;
  /** What kind of event it is. */
  readonly event: string;
  readonly data: string;
}

/** The longest event that is taken, in UTF-16 units. */
const LONGEST = 64 * 1024 * 1024;

/**
 * The events of a stream, as it comes; one that is cut off by its end is none.
 *
 * @throws {RangeError} when an event is longer than any that a server of ours tells
 */
export async function* serverEvents(
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
    if (length > LONGEST) throw new RangeError("The server tells an event that is too long");
    for (const other of others) {
      yield pieces.join("").replace(/\r$/u, "");
      pieces.splice(0, pieces.length, other);
      length = other.length;
    }
  }
}
