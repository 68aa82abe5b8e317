import { brokenAnswer, type RelayAnswer } from "./relay.ts";

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
const OF_CONNECTION = [
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
        headers: passedOn(request.headers, { "accept-encoding": "identity" }),
        ...(method === "GET" || method === "HEAD" ? {} : { body }),
        client,
        signal: gone,
      });
    } catch (error) {
      if (!gone.aborted) tell?.(`Cannot reach ${upstream.origin}: ${reasonOf(error)}`);
      return brokenAnswer();
    }
    const { status, headers } = answer;
    const head = { status, headers: passedOn(headers) };
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
export function passedOn(headers: Headers, more: Readonly<Record<string, string>> = {}): Headers {
  const passed = new Headers(headers);
  const named = headers.get("connection")?.split(",").map((name) => name.trim()) ?? [];
  for (const name of [...OF_CONNECTION, ...named]) if (name !== "") passed.delete(name);
  for (const [name, value] of Object.entries(more)) passed.set(name, value);
  return passed;
}
