import { brokenAnswer, type RelayAnswer } from "./relay_server.ts";

/** To whom requests are passed on. */
export interface PassOnOptions {
  /** The base URL of the upstream. */
  readonly upstream: URL;
  /** How that is reached. */
  readonly client: Deno.HttpClient;
  /** Takes a sentence on why the upstream has not answered; whoever asked sees no more than that nothing comes. */
  readonly tell?: ((line: string) => void) | undefined;
}

/** Headers that are about one connection, RFC 9110 7.6.1, or follow from the body. */
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

/** Statuses that have no body. */
const BODILESS = [101, 204, 205, 304];

/**
 * Passes requests on to an upstream as they are, logins included, of which nothing is kept or written down here. Answers
 * come back as the upstream gives them, byte for byte and at once: it is asked not to compress, because `fetch` would
 * undo that, and what it compresses all the same stays so. Redirections are followed here, as Claude Code would without
 * the relay (2.1.330; both keep `authorization` from another origin): what they name is no path of the relay. An
 * upstream that cannot be reached, or breaks off, is a connection that breaks off.
 */
export function passOn({ upstream, client, tell }: PassOnOptions): RelayAnswer {
  const base = upstream.pathname.replace(/\/$/u, "");
  return async (request, { signal: gone }) => {
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
        signal: gone,
      });
    } catch (error) {
      if (!gone.aborted) tell?.(`Cannot reach ${upstream.origin}: ${reasonOf(error)}`);
      return brokenAnswer();
    }
    const { status, headers } = answer;
    const head = { status, headers: forwardedHeaders(headers) };
    if (answer.body !== null && !BODILESS.includes(status)) return new Response(answer.body, head);
    await answer.body?.cancel();
    return new Response(null, head);
  };
}

/** What `fetch` says behind the URL, in which there may be what is nobody's business. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  const text = cause instanceof Error ? cause.message : message;
  return /(?:\): (?:client error \(Connect\): )?|^Fetch failed: )(.+)$/su.exec(text)?.[1] ??
    "it does not answer";
}

/** The headers of a message but for those of its connection. */
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

/** The variables that say how the network is reached, as Claude Code reads them. */
type NetworkVariables = Readonly<Record<string, string | undefined>>;

/**
 * The proxy through which Claude Code reaches an address, by `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`, of which those
 * in small letters come first; undefined for none.
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

/** Where a system keeps the certificates that it trusts: Debian's place, Red Hat's, and openSUSE's. */
const SYSTEM_BUNDLES = [
  "/etc/ssl/certs/ca-certificates.crt",
  "/etc/pki/tls/certs/ca-bundle.crt",
  "/etc/ssl/ca-bundle.pem",
];

/**
 * Makes the client with which an upstream is reached: through the proxy of the variables, and with the certificates that
 * Claude Code trusts: the usual ones, the system's, and those of `NODE_EXTRA_CA_CERTS` and `SSL_CERT_FILE`. Who the
 * upstream is, is always verified.
 */
export function upstreamClient(
  upstream: URL,
  { env, read }: {
    readonly env: NetworkVariables;
    /** The text of a file; undefined where it cannot be read. */
    readonly read: (path: string) => string | undefined;
  },
): Deno.HttpClient {
  const proxy = proxyFor(upstream, env);
  return Deno.createHttpClient({
    // Requests at the same time are to break off one by one.
    http2: false,
    ...(upstream.protocol === "https:" ? { caCerts: certificatesOf(env, read) } : {}),
    proxy: proxy === undefined ? direct(upstream) : proxyOptions(proxy),
  });
}

/** No proxy, not even one that this program's own environment names: Deno would take that. */
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
