import { errorAnswer } from "./faults.ts";
import { joinedBytes } from "../../joined_bytes.ts";

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
interface RelayOptions {
  readonly answer: RelayAnswer;
  /** The address on which it listens; 127.0.0.1 by default. */
  readonly hostname?: string;
  /** A free one by default. */
  readonly port?: number;
  /**
   * False for a URL without a secret. Then every user of the machine is answered, but no page of the web, and no other
   * host name than those of loopback.
   */
  readonly hasSecret?: boolean;
  readonly bodies?: RequestBodies;
}

/** A server in front of the Messages API. */
export interface Relay extends Disposable {
  /** Its base URL, the secret included. */
  readonly url: string;
}

/** Who has asked. A class, as V8 makes a kind of its own for every object that is written down with a getter in it. */
class LazySignal<Info> implements Waiting {
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

/** How long it waits before it listens again, in milliseconds. */
const RETRY_MS = 100;

/**
 * Starts a relay. Disposing of it cuts whatever is under way.
 *
 * @throws {Deno.errors.AddrInUse} and its relatives when the address cannot be had
 */
export function startRelay(
  { answer, hostname = "127.0.0.1", port = 0, hasSecret = true, bodies = new RequestBodies() }:
    RelayOptions,
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
  const prefix = hasSecret ? `/${crypto.randomUUID()}` : "";
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
        const isForeign = !hasSecret && (!isLoopback(hostname) || request.headers.has("origin"));
        if (isForeign) return refuse(request, { status: 403, message: NO_PAGES });
        if (!pathname.startsWith(`${prefix}/`)) {
          return refuse(request, { status: 404, message: NO_SECRET });
        }
        const body = await bodies.read(request);
        if (body instanceof Response) return body;
        const size = body.length;
        info.completed.catch(() => {}).finally(() => bodies.release(size));
        const { method, headers } = request;
        const path = pathname.slice(prefix.length) + search;
        return await answer({ method, path, headers, body }, new LazySignal(info, watch));
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
    }, RETRY_MS);
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

const NO_PAGES = "Cannot answer a page of the web, nor to another name than localhost";
const NO_SECRET = "Cannot answer: the secret in the relay's URL is missing, or another one";

/**
 * Refuses a request without reading its body. Where there is one the connection is closed after the message: Deno 2.9.6
 * would keep it for as long as the rest of the body is missing.
 */
function refuse(
  { body }: Request,
  { status, message }: { readonly status: number; readonly message: string },
): Response {
  const error = errorAnswer(status, { message });
  if (body === null || error.body === null) return error;
  const text = error.body.getReader();
  const { headers } = error;
  return new Response(
    new ReadableStream({
      pull: async (controller) => {
        const { done, value } = await text.read();
        if (done) controller.error(new Error("the body of the request was not read"));
        else controller.enqueue(value);
      },
    }),
    { status, headers },
  );
}

/** Answers that break off before they have begun. */
const broken = new WeakSet<Response>();

/**
 * An answer that breaks off before it has begun. Claude Code takes one of this status for a connection that failed, and
 * any other for an answer (2.1.330).
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
function isBroken(answer: Response): boolean {
  return broken.has(answer);
}

/** How much of request bodies is read. */
interface BodyLimits {
  /** The largest body, in bytes. */
  readonly bytes: number;
  /** All bodies that are in memory at the same time, in bytes. */
  readonly bytesOfAll: number;
  /** How long the next bytes of a body may take to arrive, in milliseconds. */
  readonly idleMs: number;
}

const MB = 1024 * 1024;

/** The Messages API itself accepts 32 MB. */
const LIMITS: BodyLimits = { bytes: 128 * MB, bytesOfAll: 256 * MB, idleMs: 30_000 };

/** Reads the bodies of requests, and counts the bytes that they take in memory. */
export class RequestBodies {
  readonly #limits: BodyLimits;
  #held = 0;

  constructor(limits: BodyLimits = LIMITS) {
    this.#limits = limits;
  }

  /**
   * Reads a body. Its bytes count until {@link release} is called.
   *
   * @returns the body, or the error that the client gets in place of an answer
   * @throws when the client breaks off
   */
  async read(request: Request): Promise<Uint8Array<ArrayBuffer> | Response> {
    const { bytes: most, bytesOfAll, idleMs } = this.#limits;
    const reader = request.body?.getReader();
    if (reader === undefined) return new Uint8Array();
    let pieces: Uint8Array<ArrayBuffer>[] = [];
    let size = 0;
    let refusal: Response | undefined;
    let isLate = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const drop = () => {
      for (const { length } of pieces) this.release(length);
      pieces = [];
    };
    try {
      for (;;) {
        timer = setTimeout(() => {
          isLate = true;
          reader.cancel().catch(() => {});
        }, idleMs);
        const { done, value } = await reader.read();
        clearTimeout(timer);
        if (done) break;
        size += value.length;
        if (refusal === undefined && size > most) {
          refusal = refused(413, `it is larger than ${most / MB} MB`);
        }
        if (refusal === undefined && this.#held + value.length > bytesOfAll) {
          refusal = refused(503, `other requests take the ${bytesOfAll / MB} MB that bodies may`);
        }
        if (refusal !== undefined) {
          // The rest is read, but not kept: a client that still writes would not see the error.
          drop();
          continue;
        }
        this.#held += value.length;
        pieces.push(value);
      }
    } catch (error) {
      clearTimeout(timer);
      drop();
      throw error;
    }
    if (!isLate) return refusal ?? joinedBytes(pieces);
    drop();
    return refused(408, `none of it has arrived for ${idleMs / 1000} s`);
  }

  /** Stops counting bytes that are no longer needed. */
  release(bytes: number): void {
    this.#held -= bytes;
  }
}

function refused(status: number, why: string): Response {
  return errorAnswer(status, { message: `Cannot read the body of the request: ${why}` });
}

/** Whoever looks on while a request is answered. What is passed on does not wait for it. */
export interface ExchangeWatcher {
  readonly onHead?: (head: { readonly status: number; readonly headers: Headers }) => void;
  /** Takes bytes of the answer as they come, encoded as its head says; they are good only until it returns. */
  readonly onBytes?: (bytes: Uint8Array) => void;
  /** Nothing more comes: all has, or the answer broke off, on whichever side. */
  readonly onEnd?: (end: { readonly whole: boolean }) => void;
}

/**
 * Lets somebody look on at what is answered.
 *
 * @param watch called for every request; without an answer nobody looks on
 */
export function watchAnswers(
  answer: RelayAnswer,
  watch: (request: RelayedRequest) => ExchangeWatcher | undefined,
): RelayAnswer {
  return async (request, waiting) => {
    const watcher = watch(request);
    if (watcher === undefined) return await answer(request, waiting);
    let isOver = false;
    const end = (whole: boolean) => {
      if (!isOver) watcher.onEnd?.({ whole });
      isOver = true;
    };
    const response = await answer(request, waiting);
    if (isBroken(response)) {
      end(false);
      return response;
    }
    const { status, headers, body } = response;
    watcher.onHead?.({ status, headers });
    if (body === null) {
      end(true);
      return response;
    }
    return new Response(watchedBody(body, { watcher, end }), { status, headers });
  };
}

/** A body that passes on another one piece by piece, and its end in whichever way. */
function watchedBody(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  { watcher, end }: {
    readonly watcher: ExchangeWatcher;
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
        watcher.onBytes?.(value);
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
