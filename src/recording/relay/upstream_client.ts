/** The variables that say how the network is reached, as Claude Code reads them. */
export type NetworkVariables = Readonly<Record<string, string | undefined>>;

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
