import { problemOf, problemResponse } from "./problem.ts";
import { type Call, matchRoute, type Route } from "./route.ts";

/** Where a server listens, and what it answers. */
export interface HttpOptions<Context> {
  readonly at:
    | { readonly path: string }
    | { readonly hostname: string; readonly port: number };
  readonly routes: readonly Route<Context>[];
  readonly context: Context;
  /** Says why a request is not answered, where it is not. */
  readonly refuse?: (request: Request, route: Route<Context> | undefined) => Response | undefined;
  /** Takes what is a mistake of this program. */
  readonly onMistake: (error: unknown) => void;
}

/** A server of HTTP. */
export interface HttpServer {
  /** The port, where it has one. */
  readonly port: number | undefined;
  /** Takes no more requests, and resolves when those under way are answered. */
  readonly close: () => Promise<void>;
  /** Cuts whatever is under way. */
  readonly cut: () => void;
}

/** Most requests that are answered at once; one whose answer has begun is none of them. */
const MOST_AT_ONCE = 512;
/** How long nobody is listened to after Deno's server has ended by itself, in milliseconds. */
const RESTING_MS = 100;

/**
 * Listens and answers by a table of routes.
 *
 * @throws {Deno.errors.AddrInUse} and its relatives when the address cannot be had
 */
export function serveHttp<Context>(options: HttpOptions<Context>): HttpServer {
  const { at, routes, context, refuse = () => undefined, onMistake } = options;
  let answering = 0;
  const answer = async (request: Request, gone: AbortSignal): Promise<Response> => {
    try {
      const url = URL.parse(request.url);
      if (url === null) {
        return problemResponse({ status: 400, detail: "Cannot answer to a name that is none" });
      }
      const match = matchRoute(routes, { method: request.method, path: url.pathname });
      const refusal = refuse(request, match.kind === "route" ? match.route : undefined);
      if (refusal !== undefined) return refusal;
      switch (match.kind) {
        case "none":
          return problemResponse({
            status: 404,
            detail: `Cannot answer ${request.method} ${url.pathname}: there is no such path`,
            suggestion: "The paths are in the OpenAPI file: GET /openapi.json",
          });
        case "method":
          return problemResponse({
            status: 405,
            detail: `Cannot answer ${request.method} ${url.pathname}: it takes ${
              match.allowed.join(", ")
            }`,
            headers: { allow: match.allowed.join(", ") },
          });
        case "route": {
          const call: Call<Context> = { context, request, url, params: match.params, gone };
          return await match.route.handle(call);
        }
      }
    } catch (error) {
      const problem = problemOf(error);
      if (problem.status === 500) onMistake(error);
      return problemResponse(problem);
    }
  };
  const handler = async (
    request: Request,
    { completed }: { readonly completed: Promise<void> },
  ): Promise<Response> => {
    const gone = new AbortController();
    completed.then(() => gone.abort(), () => gone.abort());
    if (answering >= MOST_AT_ONCE) {
      return problemResponse({
        status: 503,
        detail: `Cannot answer the request: ${MOST_AT_ONCE} are being answered already`,
        headers: { "retry-after": "1" },
      });
    }
    answering++;
    try {
      return await answer(request, gone.signal);
    } finally {
      answering--;
    }
  };
  let isOver = false;
  let server: Listening;
  const listen = (address: HttpOptions<Context>["at"]) => {
    // A server that has ended is done with its signal.
    const stopped = new AbortController();
    const shared = { signal: stopped.signal, onListen: () => {} };
    const listening = "path" in address
      ? Deno.serve({ ...address, ...shared }, handler)
      : Deno.serve({ ...address, ...shared }, handler);
    if ("path" in address) Deno.chmodSync(address.path, 0o600);
    server = { listening, stopped, isOver: false };
    const own = server;
    listening.finished.then(() => own.isOver = true, (error: unknown) => {
      own.isOver = true;
      if (isOver) return;
      onMistake(error);
      again();
    });
    return listening;
  };
  // Deno ends a server that cannot take a connection, as where there can be no more open files.
  let resting: ReturnType<typeof setTimeout> | undefined;
  const again = () => {
    resting = setTimeout(() => {
      if (isOver) return;
      try {
        if ("path" in at) removeSocket(at.path);
        listen("path" in at ? at : { ...at, port });
      } catch {
        again();
      }
    }, RESTING_MS);
  };
  const first = listen(at);
  const port = "port" in first.addr ? first.addr.port : 0;
  const end = () => {
    isOver = true;
    clearTimeout(resting);
  };
  return {
    port: "path" in at ? undefined : port,
    close: async () => {
      end();
      const own = server;
      if (!own.isOver) await own.listening.shutdown();
      own.isOver = true;
    },
    // Deno 2.9.6 takes the signal of a server that is over for a mistake.
    cut: () => {
      end();
      if (!server.isOver) server.stopped.abort();
    },
  };
}

/** A server of Deno's, and what ends it. */
interface Listening {
  readonly listening: Deno.HttpServer<Deno.Addr>;
  readonly stopped: AbortController;
  isOver: boolean;
}

function removeSocket(path: string): void {
  try {
    // What somebody else has put there meanwhile is theirs, and in the way.
    if (Deno.lstatSync(path).isSocket) Deno.removeSync(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
