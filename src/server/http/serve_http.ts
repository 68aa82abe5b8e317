import { isLoopback } from "../../recording/relay/relay_server.ts";
import type { ConversationRegistry } from "../conversations/conversation_registry.ts";
import type { Pool } from "../pool/pool.ts";
import { problemResponse, toProblem } from "../problems.ts";
import { HttpServer, type ListeningOptions } from "./http_server.ts";
import type { BodyLimits } from "./request_body.ts";

/** The objects from which routes answer. */
export interface ServeContext {
  readonly version: string;
  readonly registry: ConversationRegistry;
  /** The pool of warm children, if there is one. */
  readonly pool?: Pick<Pool, "entries" | "children" | "counts"> | undefined;
  readonly limits: BodyLimits;
  /** When the server was started, in milliseconds since the epoch. */
  readonly startedAt: number;
  /** The number of runs that were delegated to this server, and the number of them that have not ended. */
  readonly delegated: { readonly total: number; readonly running: number };
  /** The path of its socket; if it listens on TCP, also the URL and the path of the token. */
  readonly listening: () => {
    readonly socket: string;
    readonly url?: string;
    readonly token_file?: string;
  };
  /** Ends the server when the running work is done, or immediately. */
  readonly stop: (options: { readonly now: boolean }) => void;
}

/** A request to a route. */
export interface Call {
  readonly context: ServeContext;
  readonly request: Request;
  readonly url: URL;
  /** The parts of the path that match the names in braces of the route. */
  readonly params: Readonly<Record<string, string>>;
  /** Aborted when the client has disconnected. */
  readonly gone: AbortSignal;
}

/** A row of the table of routes. */
export interface Route {
  readonly method: "GET" | "POST" | "DELETE";
  /** The path, such as `/v1/conversations/{id}`. */
  readonly path: string;
  /** Whether the route needs no token. */
  readonly isPublic?: boolean;
  /** @throws {CliError} and {@linkcode ProblemError}, which are answered as problems */
  readonly handle: (call: Call) => Response | Promise<Response>;
}

/** The address of a server, and its answers. */
export interface HttpOptions
  extends Pick<ListeningOptions, "at" | "reserve" | "isAuthenticated" | "onInternalError"> {
  readonly routes: readonly Route[];
  readonly context: ServeContext;
  /** Returns the refusal of a request; undefined to answer it. */
  readonly refuse?: (request: Request, route: Route | undefined) => Response | undefined;
}

/** The maximum number of requests that wait at the same time for the beginning of their answers. */
const MAX_WAITING = 512;

/**
 * Listens for HTTP and answers by a table of routes.
 *
 * @throws {Deno.errors.AddrInUse} and its relatives when the address cannot be used
 */
export function serveHttp(options: HttpOptions): HttpServer {
  let waiting = 0;
  const handler = async (request: Request, gone: AbortSignal): Promise<Response> => {
    if (waiting >= MAX_WAITING) {
      return problemResponse({
        status: 503,
        detail: `Cannot answer the request: ${MAX_WAITING} are being answered already`,
        headers: { "retry-after": "1" },
      });
    }
    waiting++;
    try {
      return await answer(request, gone, options);
    } catch (error) {
      const problem = toProblem(error);
      if (problem.status === 500) options.onInternalError(error);
      return problemResponse(problem);
    } finally {
      waiting--;
    }
  };
  return new HttpServer({ ...options, handler });
}

async function answer(
  request: Request,
  gone: AbortSignal,
  { routes, context, refuse }: Pick<HttpOptions, "routes" | "context" | "refuse">,
): Promise<Response> {
  const url = URL.parse(request.url);
  if (url === null) {
    return problemResponse({ status: 400, detail: "Cannot answer to a name that is none" });
  }
  const match = matchRoute(routes, { method: request.method, path: url.pathname });
  const refusal = refuse?.(request, match.kind === "route" ? match.route : undefined);
  if (refusal !== undefined) return refusal;
  const failure = `Cannot answer ${request.method} ${url.pathname}`;
  switch (match.kind) {
    case "none":
      return problemResponse({
        status: 404,
        detail: `${failure}: there is no such path`,
        suggestion: "The paths are in the OpenAPI file: GET /openapi.json",
      });
    case "method": {
      const allowed = match.allowed.join(", ");
      return problemResponse({
        status: 405,
        detail: `${failure}: it takes ${allowed}`,
        headers: { allow: allowed },
      });
    }
    case "route":
      return await match.route.handle({ context, request, url, params: match.params, gone });
  }
}

type RouteMatch =
  | {
    readonly kind: "route";
    readonly route: Route;
    readonly params: Readonly<Record<string, string>>;
  }
  /** The path exists, but not with this method. */
  | { readonly kind: "method"; readonly allowed: readonly string[] }
  | { readonly kind: "none" };

function matchRoute(
  routes: readonly Route[],
  { method, path }: { readonly method: string; readonly path: string },
): RouteMatch {
  const allowed: string[] = [];
  for (const route of routes) {
    const params = matchPath(route.path, path);
    if (params === undefined) continue;
    if (route.method === method) return { kind: "route", route, params };
    allowed.push(route.method);
  }
  return allowed.length === 0 ? { kind: "none" } : { kind: "method", allowed };
}

/** The parts of a path that match the names in braces of a pattern; undefined when the path does not match. */
function matchPath(pattern: string, path: string): Readonly<Record<string, string>> | undefined {
  const names = pattern.split("/");
  const parts = path.split("/");
  if (names.length !== parts.length) return undefined;
  const params: [string, string][] = [];
  for (const [at, name] of names.entries()) {
    const part = parts[at] ?? "";
    if (name.startsWith("{") && part !== "") params.push([name.slice(1, -1), part]);
    else if (name !== part) return undefined;
  }
  return Object.fromEntries(params);
}

/** The facts with which a server on TCP checks requests. */
export interface AuthorizerOptions {
  readonly token: string;
  /** The address on which it listens. */
  readonly hostname: string;
}

/**
 * Creates a check that refuses requests without the token, and requests of web pages even with the token. A browser
 * adds remembered passwords to such requests, and the owner of a domain can point it at this machine.
 */
export function createAuthorizer(
  { token, hostname }: AuthorizerOptions,
): (request: Request, route: Pick<Route, "isPublic"> | undefined) => Response | undefined {
  return (request, route) => {
    const url = new URL(request.url);
    if (isLoopback(hostname) && !isLoopback(url.hostname)) {
      return problemResponse({
        status: 403,
        detail: `Cannot answer to the name ${url.hostname}: this server is 127.0.0.1 or localhost`,
      });
    }
    if (isCrossOrigin(request, url)) {
      return problemResponse({ status: 403, detail: "Cannot answer a page of the web" });
    }
    if (route?.isPublic === true || hasToken(request, token)) return undefined;
    return problemResponse({
      status: 401,
      detail: "Cannot answer: the token is missing, or another one",
      suggestion:
        'Send "Authorization: Bearer TOKEN"; it stands in the file "token" beside the socket',
      headers: { "www-authenticate": 'Basic realm="claude-print"' },
    });
  };
}

/** Whether a browser sends the request for a page of another origin. */
function isCrossOrigin({ headers, method }: Request, { origin }: URL): boolean {
  const from = headers.get("origin");
  if (from !== null && from !== origin) return true;
  const isNavigation = method === "GET" && headers.get("sec-fetch-mode") === "navigate";
  const site = headers.get("sec-fetch-site") ?? "";
  return ["cross-site", "same-site"].includes(site) && !isNavigation;
}

/** Whether a request has the token, as a bearer token or as the password of any user name. */
export function hasToken({ headers }: Request, token: string): boolean {
  const [, scheme = "", given = ""] =
    /^(bearer|basic) +([\w+/=.~-]+) *$/iu.exec(headers.get("authorization") ?? "") ?? [];
  if (scheme.toLowerCase() === "bearer") return equalsInConstantTime(given, token);
  try {
    return equalsInConstantTime(atob(given).replace(/^[^:]*:/u, ""), token);
  } catch {
    return false;
  }
}

/** Compares a text with a token in a time that does not depend on the length of their equal part. */
function equalsInConstantTime(given: string, token: string): boolean {
  let difference = given.length ^ token.length;
  for (let at = 0; at < token.length; at++) {
    difference |= token.charCodeAt(at) ^ (given.charCodeAt(at) || 0);
  }
  return difference === 0;
}
