import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { Readable } from "node:stream";
import { CliError } from "../../cli_error.ts";
import { nameUnseen } from "../../recording/redaction/name_unseen.ts";
import type { Environment } from "../../sandbox/environment.ts";
import { whyForeign } from "../../sandbox/places/why_foreign.ts";
import { type ServerPlaces, serverPlaces } from "../places.ts";

/** What is asked of a server, beside the path. */
export interface AskOptions {
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
      ? nameUnseen(detail)
      : `Cannot ask the server: it answers ${answer.status}`,
    {
      suggestion: typeof suggestion === "string"
        ? nameUnseen(suggestion)
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
