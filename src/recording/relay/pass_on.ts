import { brokenAnswer, type RelayAnswer } from "./relay_server.ts";

interface PassOnOptions {
  /** The base URL of the upstream. */
  readonly upstream: URL;
  /** See `upstreamClient()`. */
  readonly client: Deno.HttpClient;
  /** Reports why the upstream has not answered. The client only sees a broken connection. */
  readonly tell?: ((line: string) => void) | undefined;
}

/** Headers of one connection (RFC 9110, 7.6.1), and the length of the body. */
const CONNECTION_HEADERS = [
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];

/** Statuses of responses without a body. */
const BODILESS = [101, 204, 205, 304];

/**
 * Creates a function that passes requests on to an upstream, including credentials. It stores nothing.
 *
 * The response is passed on byte for byte as it arrives. The request asks the upstream not to compress, because `fetch`
 * would decompress; a response that is compressed anyway stays compressed.
 *
 * Redirections are followed here, as Claude Code 2.1.330 does without a relay; both drop `authorization` for another
 * origin. A redirection cannot go to the client, because its target is not a path of the relay.
 *
 * If the upstream cannot be reached or breaks off, the connection to the client breaks off.
 */
export function passOn({ upstream, client, tell }: PassOnOptions): RelayAnswer {
  const base = upstream.pathname.replace(/\/$/u, "");
  return async (request, { signal }) => {
    const { method, path, body } = request;
    const target = new URL(upstream.origin);
    const [pathname = "", query] = path.split(/\?(.*)/su);
    target.pathname = base + pathname;
    target.search = query ?? "";
    let answer: Response;
    try {
      answer = await fetch(target, {
        method,
        headers: forwardedHeaders(request.headers, { "accept-encoding": "identity" }),
        ...(method === "GET" || method === "HEAD" ? {} : { body }),
        client,
        signal,
      });
    } catch (error) {
      if (!signal.aborted) tell?.(`Cannot reach ${upstream.origin}: ${fetchFailure(error)}`);
      return brokenAnswer();
    }
    const { status, headers } = answer;
    const head = { status, headers: forwardedHeaders(headers) };
    if (answer.body !== null && !BODILESS.includes(status)) return new Response(answer.body, head);
    await answer.body?.cancel();
    return new Response(null, head);
  };
}

/** Returns the message of `fetch` after the URL, because the URL may contain secrets. */
function fetchFailure(error: unknown): string {
  const { message, cause } = error as Error;
  const text = cause instanceof Error ? cause.message : message;
  return /(?:\): (?:client error \(Connect\): )?|^Fetch failed: )(.+)$/su.exec(text)?.[1] ??
    "it does not answer";
}

/** Returns the headers of a message without those of its connection. */
export function forwardedHeaders(
  headers: Headers,
  more: Readonly<Record<string, string>> = {},
): Headers {
  const passed = new Headers(headers);
  const named = headers.get("connection")?.split(",").map((name) => name.trim()) ?? [];
  for (const name of [...CONNECTION_HEADERS, ...named]) if (name !== "") passed.delete(name);
  for (const [name, value] of Object.entries(more)) passed.set(name, value);
  return passed;
}

/** Environment variables that describe how to reach the network. */
type NetworkVariables = Readonly<Record<string, string | undefined>>;

/**
 * Returns the proxy for an address; undefined for none. It reads `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` as Claude
 * Code does: lower case wins.
 */
export function proxyFor(address: URL, env: NetworkVariables): string | undefined {
  const proxy = env["https_proxy"] || env["HTTPS_PROXY"] || env["http_proxy"] || env["HTTP_PROXY"];
  return proxy && !isExempt(address, env["no_proxy"] || env["NO_PROXY"] || "") ? proxy : undefined;
}

function isExempt({ hostname, port, protocol }: URL, exempt: string): boolean {
  const host = hostname.toLowerCase();
  const ports = [port || (protocol === "https:" ? "443" : "80")];
  return exempt.toLowerCase().split(/[\s,]+/u).some((pattern) => {
    if (pattern === "*") return true;
    const [, name = "", only] = /^(.*?)(?::(\d+))?$/u.exec(pattern) ?? [];
    if (name === "" || (only !== undefined && !ports.includes(only))) return false;
    const bare = name.replace(/^\*?\./u, "");
    return host === bare || host.endsWith(`.${bare}`);
  });
}

/** Certificate bundles of Debian, Red Hat and openSUSE. */
const SYSTEM_BUNDLES = [
  "/etc/ssl/certs/ca-certificates.crt",
  "/etc/pki/tls/certs/ca-bundle.crt",
  "/etc/ssl/ca-bundle.pem",
];

/**
 * Creates the HTTP client for an upstream. It uses the proxy of the environment and trusts the certificates that Claude
 * Code trusts: the built-in ones, those of the system, `NODE_EXTRA_CA_CERTS` and `SSL_CERT_FILE`. It always verifies
 * certificates.
 */
export function upstreamClient(
  upstream: URL,
  { env, read }: {
    readonly env: NetworkVariables;
    /** Returns the text of a file; undefined if it cannot be read. */
    readonly read: (path: string) => string | undefined;
  },
): Deno.HttpClient {
  const proxy = proxyFor(upstream, env);
  return Deno.createHttpClient({
    // With HTTP/2, requests would share one connection, and one broken request would break the others.
    http2: false,
    ...(upstream.protocol === "https:" ? { caCerts: certificatesOf(env, read) } : {}),
    proxy: proxy === undefined ? direct(upstream) : proxyOptions(proxy),
  });
}

/** Makes Deno connect directly. Otherwise it would use the proxy of this program's own environment. */
function direct({ hostname, port, protocol }: URL): Deno.Proxy {
  return {
    transport: "tcp",
    hostname: hostname.replace(/^\[|\]$/gu, ""),
    port: Number(port) || (protocol === "https:" ? 443 : 80),
  };
}

function certificatesOf(
  env: NetworkVariables,
  read: (path: string) => string | undefined,
): string[] {
  const system = SYSTEM_BUNDLES.map(read).find((text) => text !== undefined);
  const named = [env["NODE_EXTRA_CA_CERTS"], env["SSL_CERT_FILE"]]
    .map((path) => path ? read(path) : undefined);
  return [system, ...named].filter((text) => text !== undefined);
}

function proxyOptions(proxy: string): { url: string; basicAuth?: Deno.BasicAuth } {
  const url = URL.parse(/^[a-z\d+.-]+:\/\//iu.test(proxy) ? proxy : `http://${proxy}`);
  if (url === null || url.username === "") return { url: url?.href ?? proxy };
  const { username, password } = url;
  url.username = url.password = "";
  return {
    url: url.href,
    basicAuth: { username: unescaped(username), password: unescaped(password) },
  };
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
