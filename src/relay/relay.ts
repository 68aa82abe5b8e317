/** A request as it came, before it goes on. */
export interface RelayedRequest {
  readonly method: string;
  /** Path and query below the relay's base URL. */
  readonly path: string;
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer>;
}

/** Whether anybody waits for an answer. */
export interface Waiting {
  /** Aborted once nobody does any more. It is made when it is asked for: an answer that is there at once needs none. */
  readonly signal: AbortSignal;
}

/** What a relay answers to a request. */
export type RelayAnswer = (request: RelayedRequest, waiting: Waiting) => Promise<Response>;

/** How a relay is made. */
export interface RelayOptions {
  readonly answer: RelayAnswer;
  /** The address on which it listens; 127.0.0.1 by default. */
  readonly hostname?: string;
  /** A free one by default. */
  readonly port?: number;
  /**
   * What stands ahead of every path; without it nothing is answered. A new one by default, and none where it is empty:
   * then whoever asks by another name than one of this machine's is not answered, nor is a page of the web.
   */
  readonly token?: string;
}

/** A server in front of the Messages API. */
export interface Relay extends Disposable {
  /** Its base URL, the token included. */
  readonly url: string;
}

/** Who has asked. A class, as V8 makes a kind of its own for every object that is written down with a getter in it. */
class Asker<Info> implements Waiting {
  readonly #info: Info;
  readonly #watch: (info: Info) => AbortSignal;
  #signal: AbortSignal | undefined;

  constructor(info: Info, watch: (info: Info) => AbortSignal) {
    this.#info = info;
    this.#watch = watch;
  }

  get signal(): AbortSignal {
    return this.#signal ??= this.#watch(this.#info);
  }
}

/** Largest body of a request, in bytes: the API itself takes 32 MB. */
const MAX_BODY = 128 * 1024 * 1024;

/** How long it waits before it listens again, in milliseconds. */
const AGAIN_MS = 100;

/**
 * Starts a relay. Disposing of it cuts whatever is under way.
 *
 * @throws {Deno.errors.AddrInUse} and its relatives when the address cannot be had
 */
export function startRelay(
  { answer, hostname = "127.0.0.1", port = 0, token = crypto.randomUUID() }: RelayOptions,
): Relay {
  const stopped = new AbortController();
  const watched = new Set<AbortController>();
  const watch = ({ completed }: Pick<Deno.ServeHandlerInfo, "completed">): AbortSignal => {
    const gone = new AbortController();
    watched.add(gone);
    completed.catch(() => gone.abort()).finally(() => watched.delete(gone));
    if (stopped.signal.aborted) gone.abort();
    return gone.signal;
  };
  const prefix = token === "" ? "" : `/${token}`;
  let retry: ReturnType<typeof setTimeout> | undefined;
  const serve = (port: number): Deno.HttpServer<Deno.NetAddr> => {
    const server = Deno.serve(
      {
        hostname,
        port,
        signal: stopped.signal,
        onListen: () => {},
        // What the client has given up is nobody's problem.
        onError: () => brokenAnswer(),
      },
      async (request, info) => {
        const { hostname, pathname, search } = new URL(request.url);
        const isForeign = token === "" &&
          (!isLoopback(hostname) || request.headers.has("origin"));
        if (isForeign) return new Response(null, { status: 403 });
        if (!pathname.startsWith(`${prefix}/`)) return new Response(null, { status: 404 });
        const body = await bodyOf(request);
        if (body === undefined) return new Response(null, { status: 413 });
        const { method, headers } = request;
        const path = pathname.slice(prefix.length) + search;
        return await answer({ method, path, headers, body }, new Asker(info, watch));
      },
    );
    // It gives up where it cannot take a connection, as with too many files open.
    server.finished.catch(() => serveAgain(server.addr.port));
    return server;
  };
  const serveAgain = (port: number): void => {
    if (stopped.signal.aborted) return;
    retry = setTimeout(() => {
      try {
        serve(port);
      } catch {
        serveAgain(port);
      }
    }, AGAIN_MS);
  };
  const server = serve(port);
  const host = hostname.includes(":") ? `[${hostname}]` : hostname;
  return {
    url: `http://${host}:${server.addr.port}${prefix}`,
    [Symbol.dispose]: () => {
      for (const gone of watched) gone.abort();
      stopped.abort();
      clearTimeout(retry);
    },
  };
}

/** Whether a name or an address is one that nobody reaches from another machine. */
export function isLoopback(hostname: string): boolean {
  return /^(?:127(?:\.\d{1,3}){3}|\[?::1\]?|localhost)$/u.test(hostname);
}

/** The whole body of a request; undefined if it is too large. */
async function bodyOf(request: Request): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const said = request.headers.get("content-length");
  // A server reads no more of a body than its head has said.
  if (said !== null) return Number(said) > MAX_BODY ? undefined : await request.bytes();
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for await (const piece of request.body ?? []) {
    size += piece.length;
    if (size > MAX_BODY) return undefined;
    pieces.push(piece);
  }
  return new Uint8Array(await new Blob(pieces).arrayBuffer());
}

/** Answers that break off before they have begun. */
const broken = new WeakSet<Response>();

/**
 * An answer that breaks off before it has begun. Claude Code takes one of this status for a connection that failed, and
 * any other for an answer (2.1.197 and 2.1.330).
 */
export function brokenAnswer(): Response {
  const answer = new Response(
    new ReadableStream({ pull: (controller) => controller.error(new Error("no upstream")) }),
    { status: 200 },
  );
  broken.add(answer);
  return answer;
}

/** Whether an answer is such a one, of which nobody has said a word. */
export function isBroken(answer: Response): boolean {
  return broken.has(answer);
}
