import { type HttpServer, listenForHttp, type ListeningOptions } from "./listen_for_http.ts";
import { problemOf, problemResponse } from "./problem.ts";
import { type Call, matchRoute, type Route } from "./route.ts";

/** Where a server listens, and what it answers. */
export interface HttpOptions<Context> extends Pick<ListeningOptions, "at" | "reserve" | "isKnown"> {
  readonly routes: readonly Route<Context>[];
  readonly context: Context;
  /** Says why a request is not answered, where it is not. */
  readonly refuse?: (request: Request, route: Route<Context> | undefined) => Response | undefined;
  /** Takes what is a mistake of this program. */
  readonly onMistake: (error: unknown) => void;
}

/** Most requests that are answered at once; one whose answer has begun is none of them. */
const MOST_AT_ONCE = 512;

/**
 * Listens and answers by a table of routes.
 *
 * @throws {Deno.errors.AddrInUse} and its relatives when the address cannot be had
 */
export function serveHttp<Context>(options: HttpOptions<Context>): HttpServer {
  const { routes, context, refuse = () => undefined, onMistake } = options;
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
  const handler = async (request: Request, gone: AbortSignal): Promise<Response> => {
    if (answering >= MOST_AT_ONCE) {
      return problemResponse({
        status: 503,
        detail: `Cannot answer the request: ${MOST_AT_ONCE} are being answered already`,
        headers: { "retry-after": "1" },
      });
    }
    answering++;
    try {
      return await answer(request, gone);
    } finally {
      answering--;
    }
  };
  return listenForHttp({ ...options, handler });
}
