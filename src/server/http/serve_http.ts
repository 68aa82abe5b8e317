import { type HttpServer, listenForHttp, type ListeningOptions } from "./listen_for_http.ts";
import { type HttpProblem, problemOf, problemResponse } from "../problems.ts";
import type { Registry } from "../conversations/registry.ts";
import type { BodyLimits } from "./request_body.ts";
import type { Pool } from "../pool/pool.ts";
import { isLoopback } from "../../recording/relay/relay_server.ts";

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

/** What a request asks of a server with `Context`. */
export interface Call<Context> {
  readonly context: Context;
  readonly request: Request;
  readonly url: URL;
  /** What stands in the path where a route has a name in braces. */
  readonly params: Readonly<Record<string, string>>;
  /** Aborted once nobody waits for the answer any more. */
  readonly gone: AbortSignal;
}

/** A row of the table of what a server answers. */
export interface Route<Context> {
  readonly method: "GET" | "POST" | "DELETE";
  /** Such as `/v1/conversations/{id}`. */
  readonly path: string;
  /** Whether it is answered to whoever does not know the token. */
  readonly isOpen?: boolean;
  /** @throws {CliError} and {@linkcode ProblemError}, which are answered as problems */
  readonly handle: (call: Call<Context>) => Response | Promise<Response>;
}

/** What of the table answers a request. */
type RouteMatch<Context> =
  | {
    readonly kind: "route";
    readonly route: Route<Context>;
    readonly params: Readonly<Record<string, string>>;
  }
  /** The path is there, but not for that method. */
  | { readonly kind: "method"; readonly allowed: readonly string[] }
  | { readonly kind: "none" };

/** Finds the row for a method and a path. */
function matchRoute<Context>(
  routes: readonly Route<Context>[],
  { method, path }: { readonly method: string; readonly path: string },
): RouteMatch<Context> {
  const allowed: string[] = [];
  for (const route of routes) {
    const params = paramsOf(route.path, path);
    if (params === undefined) continue;
    if (route.method === method) return { kind: "route", route, params };
    allowed.push(route.method);
  }
  return allowed.length === 0 ? { kind: "none" } : { kind: "method", allowed };
}

function paramsOf(pattern: string, path: string): Readonly<Record<string, string>> | undefined {
  const names = pattern.split("/");
  const words = path.split("/");
  if (names.length !== words.length) return undefined;
  const params: [string, string][] = [];
  for (const [at, name] of names.entries()) {
    const word = words[at] ?? "";
    if (name.startsWith("{") && word !== "") params.push([name.slice(1, -1), word]);
    else if (name !== word) return undefined;
  }
  return Object.fromEntries(params);
}

/** What the answers of a server are made of. */
export interface ServeContext {
  readonly version: string;
  readonly registry: Registry;
  /** The children that wait, where some do. */
  readonly pool?: Pick<Pool, "entries" | "counts"> | undefined;
  readonly limits: BodyLimits;
  /** When the server was started, in milliseconds since the epoch. */
  readonly startedAt: number;
  /** How many runs other processes of this program have handed over, and how many of them are not over yet. */
  readonly handedOver: { readonly total: number; readonly underWay: number };
}

/** How a server on TCP knows whom it may answer. */
interface GuardOptions {
  readonly token: string;
  /** The address on which it listens. */
  readonly hostname: string;
}

/**
 * Refuses whoever does not know the token, and pages of the web, whatever they know: a browser sends what it remembers
 * along with their requests, and takes any name to this machine if its owner says so.
 */
export function guard(
  options: GuardOptions,
): (request: Request, route: Pick<Route<never>, "isOpen"> | undefined) => Response | undefined {
  const { token, hostname } = options;
  const refuse = (problem: HttpProblem) => problemResponse(problem);
  return (request, route) => {
    const url = new URL(request.url);
    if (isLoopback(hostname) && !isLoopback(url.hostname)) {
      return refuse({
        status: 403,
        detail: `Cannot answer to the name ${url.hostname}: this server is 127.0.0.1 or localhost`,
      });
    }
    if (isFromElsewhere(request, url)) {
      return refuse({ status: 403, detail: "Cannot answer a page of the web" });
    }
    if (route?.isOpen === true || showsToken(request, token)) return undefined;
    return refuse({
      status: 401,
      detail: "Cannot answer: the token is missing, or another one",
      suggestion:
        'Send "Authorization: Bearer TOKEN"; it stands in the file "token" beside the socket',
      headers: { "www-authenticate": 'Basic realm="claude-print"' },
    });
  };
}

/** Whether a browser sends it for a page that did not come from here. */
function isFromElsewhere({ headers, method }: Request, { origin }: URL): boolean {
  const from = headers.get("origin");
  if (from !== null && from !== origin) return true;
  const isTyped = method === "GET" && headers.get("sec-fetch-mode") === "navigate";
  return ["cross-site", "same-site"].includes(headers.get("sec-fetch-site") ?? "") && !isTyped;
}

/** Whether a request shows the token. */
export function showsToken(request: Request, token: string): boolean {
  return isSame(tokenIn(request), token);
}

/** A bearer's token, or the password of anybody. */
function tokenIn({ headers }: Request): string {
  const [, scheme = "", given = ""] =
    /^(bearer|basic) +([\w+/=.~-]+) *$/iu.exec(headers.get("authorization") ?? "") ?? [];
  if (scheme.toLowerCase() === "bearer") return given;
  try {
    return atob(given).replace(/^[^:]*:/u, "");
  } catch {
    return "";
  }
}

/** Compares in a time that does not tell how much is the same. */
function isSame(given: string, token: string): boolean {
  let difference = given.length ^ token.length;
  for (let at = 0; at < token.length; at++) {
    difference |= token.charCodeAt(at) ^ (given.charCodeAt(at) || 0);
  }
  return difference === 0;
}
