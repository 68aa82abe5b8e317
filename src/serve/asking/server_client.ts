import { CliError } from "../../cli_error.ts";
import { nameUnseen } from "../../redaction/name_unseen.ts";
import type { Environment } from "../../sandbox/environment.ts";
import { whyForeign } from "../../sandbox/places/why_foreign.ts";
import { type ServerPlaces, serverPlaces } from "../places.ts";

/** What is asked of a server, beside the path. */
export interface AskOptions {
  /** What is posted, as it comes. */
  readonly body?: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly signal?: AbortSignal;
}

/** Asks the server of this user by HTTP, on its socket. */
export class ServerClient implements Disposable {
  readonly #client: Deno.HttpClient;

  /** @throws {CliError} when no server is there, or somebody else may be */
  constructor(env: Environment) {
    const { folder, httpSocket } = serverPlaces(env);
    requireOwn({ folder, httpSocket });
    this.#client = Deno.createHttpClient({ proxy: { transport: "unix", path: httpSocket } });
  }

  /** @throws {CliError} when it refuses, with what it says, and when it cannot be asked */
  async ask(path: string, options: AskOptions = {}): Promise<Response> {
    let answer: Response;
    const posting = options.body === undefined
      ? {}
      : { method: "POST", headers: { "content-type": "application/octet-stream" } };
    try {
      answer = await fetch(`http://localhost${path}`, {
        ...options,
        ...posting,
        client: this.#client,
      });
    } catch (error) {
      if (options.signal?.aborted) throw error;
      throw goneError(error);
    }
    if (!answer.ok) throw await refusal(answer);
    return answer;
  }

  [Symbol.dispose](): void {
    this.#client.close();
  }
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
