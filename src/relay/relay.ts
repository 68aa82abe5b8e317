/** A request as it came, before it goes on. */
export interface RelayedRequest {
  readonly method: string;
  /** Path and query, as the upstream gets them. */
  readonly path: string;
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer>;
}

/** Whoever looks on while a request is answered. What is passed on does not wait for it. */
export interface ExchangeWatcher {
  readonly onHead?: (head: { readonly status: number; readonly headers: Headers }) => void;
  /** Takes bytes of the answer as they come, encoded as its head says; they are good only until it returns. */
  readonly onBytes?: (bytes: Uint8Array) => void;
  /** Nothing more comes: all has, or the answer broke off, on whichever side. */
  readonly onEnd?: (end: { readonly whole: boolean }) => void;
}

/** How a relay is made. */
export interface RelayOptions {
  /** The base URL of what it stands in front of. */
  readonly upstream: URL;
  /** How that is reached. */
  readonly client: Deno.HttpClient;
  /** Called for every request; without an answer nobody looks on. */
  readonly watch: (request: RelayedRequest) => ExchangeWatcher | undefined;
}

/** A server on loopback that passes on what it is asked, and what is answered. */
export interface Relay extends Disposable {
  /** Its base URL, in which there is a secret: without it nothing is passed on. */
  readonly url: string;
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

/** Largest body of a request, in bytes: the API itself takes 32 MB. */
const MAX_BODY = 128 * 1024 * 1024;

/** Statuses that have no body. */
const BODILESS = [101, 204, 205, 304];

/**
 * Starts a relay on a free port of 127.0.0.1. Disposing of it cuts whatever is under way.
 *
 * Requests go on as they are, logins included, and nothing of them is kept or written down here. Answers come back as
 * the upstream gives them, byte for byte and at once: it is asked not to compress, because `fetch` would undo that, and
 * what it compresses all the same stays so. An upstream that cannot be reached, or breaks off, is a connection that
 * breaks off.
 */
export function startRelay({ upstream, client, watch }: RelayOptions): Relay {
  const stopped = new AbortController();
  const prefix = `/${crypto.randomUUID()}`;
  const base = upstream.pathname.replace(/\/$/u, "");
  const server = Deno.serve(
    {
      hostname: "127.0.0.1",
      port: 0,
      signal: stopped.signal,
      onListen: () => {},
      // What the child has given up is nobody's problem.
      onError: () => broken(),
    },
    async (request, { completed }) => {
      const gone = new AbortController();
      completed.catch(() => gone.abort());
      const { pathname, search } = new URL(request.url);
      if (!pathname.startsWith(`${prefix}/`)) return new Response(null, { status: 404 });
      const body = await bodyOf(request);
      if (body === undefined) return new Response(null, { status: 413 });
      const target = new URL(upstream.origin);
      target.pathname = base + pathname.slice(prefix.length);
      target.search = search;
      const { method } = request;
      const path = target.pathname + target.search;
      const watcher = watch({ method, path, headers: request.headers, body });
      let isOver = false;
      const end = (whole: boolean) => {
        if (!isOver) watcher?.onEnd?.({ whole });
        isOver = true;
      };
      let answer: Response;
      try {
        answer = await fetch(target, {
          method,
          headers: passedOn(request.headers, { "accept-encoding": "identity" }),
          ...(method === "GET" || method === "HEAD" ? {} : { body }),
          redirect: "manual",
          client,
          signal: AbortSignal.any([gone.signal, stopped.signal]),
        });
      } catch {
        end(false);
        return broken();
      }
      const { status, headers } = answer;
      watcher?.onHead?.({ status, headers });
      const head = { status, headers: passedOn(headers) };
      if (answer.body === null || BODILESS.includes(status)) {
        await answer.body?.cancel();
        end(true);
        return new Response(null, head);
      }
      return new Response(watched(answer.body, { watcher, end }), head);
    },
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}${prefix}`,
    [Symbol.dispose]: () => {
      stopped.abort();
      server.finished.catch(() => {});
    },
  };
}

/** The whole body of a request; undefined if it is too large. */
async function bodyOf({ body }: Request): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for await (const piece of body ?? []) {
    size += piece.length;
    if (size > MAX_BODY) return undefined;
    pieces.push(piece);
  }
  return new Uint8Array(await new Blob(pieces).arrayBuffer());
}

function passedOn(headers: Headers, more: Readonly<Record<string, string>> = {}): Headers {
  const passed = new Headers(headers);
  const named = headers.get("connection")?.split(",").map((name) => name.trim()) ?? [];
  for (const name of [...OF_CONNECTION, ...named]) if (name !== "") passed.delete(name);
  for (const [name, value] of Object.entries(more)) passed.set(name, value);
  return passed;
}

/** A body that passes on another one piece by piece, and its end in whichever way. */
function watched(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  { watcher, end }: {
    readonly watcher: ExchangeWatcher | undefined;
    readonly end: (whole: boolean) => void;
  },
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const reader = body.getReader();
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          end(true);
          controller.close();
          return;
        }
        watcher?.onBytes?.(value);
        controller.enqueue(value);
      } catch (error) {
        end(false);
        controller.error(error);
      }
    },
    async cancel(reason) {
      end(false);
      await reader.cancel(reason);
    },
  });
}

/**
 * An answer that breaks off before it has begun. Claude Code takes one of this status for a connection that failed, and
 * any other for an answer (2.1.197 and 2.1.330).
 */
function broken(): Response {
  return new Response(
    new ReadableStream({ pull: (controller) => controller.error(new Error("no upstream")) }),
    { status: 200 },
  );
}
