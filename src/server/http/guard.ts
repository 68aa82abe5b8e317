import { isLoopback } from "../../recording/relay/relay.ts";
import { type HttpProblem, problemResponse } from "./problem.ts";
import type { Route } from "./route.ts";

/** How a server on TCP knows whom it may answer. */
export interface GuardOptions {
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
