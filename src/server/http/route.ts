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
export type RouteMatch<Context> =
  | {
    readonly kind: "route";
    readonly route: Route<Context>;
    readonly params: Readonly<Record<string, string>>;
  }
  /** The path is there, but not for that method. */
  | { readonly kind: "method"; readonly allowed: readonly string[] }
  | { readonly kind: "none" };

/** Finds the row for a method and a path. */
export function matchRoute<Context>(
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
