import { errorAnswer } from "./faults.ts";
import { joinedBytes } from "../../joined_bytes.ts";

/** A request to the relay, with its complete body. */
export interface RelayedRequest {
  readonly method: string;
  /** Path and query below the relay's base URL. */
  readonly path: string;
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer>;
}

/** The client of a request. */
export interface Waiting {
  /** Aborted when the client has disconnected. Created on first use, because a replayed answer does not need it. */
  readonly signal: AbortSignal;
}

/** Answers a request. */
export type RelayAnswer = (request: RelayedRequest, waiting: Waiting) => Promise<Response>;

interface RelayOptions {
  readonly answer: RelayAnswer;
  /** The address to listen on; 127.0.0.1 by default. */
  readonly hostname?: string;
  /** The port; a free port by default. */
  readonly port?: number;
  /**
   * False for a URL without a secret. Every user of the machine can then use the relay, but web pages and other host
   * names than localhost are refused.
   */
  readonly hasSecret?: boolean;
  readonly bodies?: RequestBodies;
}

/** A server in front of the Messages API. */
export interface Relay extends Disposable {
  /** The relay's base URL, including the secret. */
  readonly url: string;
}

/**
 * A client whose signal is created on first use. It is a class, because V8 creates a hidden class for each object
 * literal with a getter.
 */
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

/** The delay before the relay listens again, in milliseconds. */
const RETRY_MS = 100;

/**
 * Starts a relay. Disposal breaks off all requests.
 *
 * @throws {Deno.errors.AddrInUse} or a similar error when the address cannot be used
 */
export function startRelay(
  { answer, hostname = "127.0.0.1", port = 0, hasSecret = true, bodies = new RequestBodies() }:
    RelayOptions,
): Relay {
  const stopped = new AbortController();
  const clients = new Set<AbortController>();
  const watch = ({ completed }: Pick<Deno.ServeHandlerInfo, "completed">): AbortSignal => {
    const client = new AbortController();
    clients.add(client);
    completed.catch(() => client.abort()).finally(() => clients.delete(client));
    if (stopped.signal.aborted) client.abort();
    return client.signal;
  };
  const prefix = hasSecret ? `/${crypto.randomUUID()}` : "";
  const handle = async (request: Request, info: Deno.ServeHandlerInfo): Promise<Response> => {
    const { hostname, pathname, search } = new URL(request.url);
    const isForeign = !hasSecret && (!isLoopback(hostname) || request.headers.has("origin"));
    if (isForeign) return refuseRequest(request, { status: 403, message: NO_PAGES });
    if (!pathname.startsWith(`${prefix}/`)) {
      return refuseRequest(request, { status: 404, message: NO_SECRET });
    }
    const body = await bodies.read(request);
    if (body instanceof Response) return body;
    const size = body.length;
    info.completed.catch(() => {}).finally(() => bodies.release(size));
    const { method, headers } = request;
    const path = pathname.slice(prefix.length) + search;
    return await answer({ method, path, headers, body }, new LazySignal(info, watch));
  };
  const server = serveAgainAfterErrors({ hostname, port, signal: stopped.signal }, handle);
  const host = hostname.includes(":") ? `[${hostname}]` : hostname;
  return {
    url: `http://${host}:${server.addr.port}${prefix}`,
    [Symbol.dispose]: () => {
      for (const client of clients) client.abort();
      stopped.abort();
    },
  };
}

/** Serves until the signal is aborted, even if Deno stops serving, for example because of too many open files. */
function serveAgainAfterErrors(
  { signal, ...address }: {
    readonly hostname: string;
    readonly port: number;
    readonly signal: AbortSignal;
  },
  handle: Deno.ServeHandler<Deno.NetAddr>,
): Deno.HttpServer<Deno.NetAddr> {
  let retry: ReturnType<typeof setTimeout> | undefined;
  signal.addEventListener("abort", () => clearTimeout(retry), { once: true });
  const serve = (port: number): Deno.HttpServer<Deno.NetAddr> => {
    const server = Deno.serve({
      ...address,
      port,
      signal,
      onListen: () => {},
      // The client has disconnected, so the response does not matter.
      onError: () => brokenAnswer(),
    }, handle);
    server.finished.catch(() => serveLater(server.addr.port));
    return server;
  };
  const serveLater = (port: number): void => {
    if (signal.aborted) return;
    retry = setTimeout(() => {
      try {
        serve(port);
      } catch {
        serveLater(port);
      }
    }, RETRY_MS);
  };
  return serve(address.port);
}

/** True if a host name or address is not reachable from another machine. */
export function isLoopback(hostname: string): boolean {
  return /^(?:127(?:\.\d{1,3}){3}|\[?::1\]?|localhost)$/u.test(hostname);
}

const NO_PAGES = "Cannot answer a page of the web, nor to another name than localhost";
const NO_SECRET = "Cannot answer: the secret in the relay's URL is missing, or another one";

/**
 * Refuses a request without reading its body. If there is a body, the connection is closed after the message, because
 * Deno 2.9.6 would keep it open until the rest of the body arrives.
 */
function refuseRequest(
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

/** Responses that break off before the first byte. */
const broken = new WeakSet<Response>();

/**
 * Returns a response that breaks off before the first byte. Claude Code 2.1.330 treats it as a failed connection only
 * if its status is 200.
 */
export function brokenAnswer(): Response {
  const answer = new Response(
    new ReadableStream({ pull: (controller) => controller.error(new Error("no upstream")) }),
    { status: 200 },
  );
  broken.add(answer);
  return answer;
}

/** True for a response of `brokenAnswer()`: the upstream has not answered. */
function isBroken(answer: Response): boolean {
  return broken.has(answer);
}

/** Limits of request bodies. */
interface BodyLimits {
  /** The maximum size of a body, in bytes. */
  readonly bytes: number;
  /** The maximum size of all bodies in memory together, in bytes. */
  readonly bytesOfAll: number;
  /** The maximum time until the next bytes of a body arrive, in milliseconds. */
  readonly idleMs: number;
}

const MB = 1024 * 1024;

/** The Messages API itself accepts 32 MB. */
const LIMITS: BodyLimits = { bytes: 128 * MB, bytesOfAll: 256 * MB, idleMs: 30_000 };

/** Reads request bodies and counts the bytes that they take in memory. */
export class RequestBodies {
  readonly #limits: BodyLimits;
  #inMemory = 0;

  constructor(limits: BodyLimits = LIMITS) {
    this.#limits = limits;
  }

  /**
   * Reads a body. Its bytes count until {@link release} is called.
   *
   * @returns the body, or the error for the client
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
          refusal = bodyError(413, `it is larger than ${most / MB} MB`);
        }
        if (refusal === undefined && this.#inMemory + value.length > bytesOfAll) {
          refusal = bodyError(503, `other requests take the ${bytesOfAll / MB} MB that bodies may`);
        }
        if (refusal !== undefined) {
          // The rest of the body is read and dropped, because a client that is still writing would not read the error.
          drop();
          continue;
        }
        this.#inMemory += value.length;
        pieces.push(value);
      }
    } catch (error) {
      clearTimeout(timer);
      drop();
      throw error;
    }
    if (!isLate) return refusal ?? joinedBytes(pieces);
    drop();
    return bodyError(408, `none of it has arrived for ${idleMs / 1000} s`);
  }

  /** Stops counting bytes. */
  release(bytes: number): void {
    this.#inMemory -= bytes;
  }
}

function bodyError(status: number, why: string): Response {
  return errorAnswer(status, { message: `Cannot read the body of the request: ${why}` });
}

/** Observes a response on its way to the client. The response does not wait for it. */
export interface ExchangeWatcher {
  readonly onHead?: (head: { readonly status: number; readonly headers: Headers }) => void;
  /** Receives bytes of the body, still compressed. The buffer is only valid during the call. */
  readonly onBytes?: (bytes: Uint8Array) => void;
  /** Called once: `whole` is false if either side broke off. */
  readonly onEnd?: (end: { readonly whole: boolean }) => void;
}

/**
 * Lets watchers observe responses.
 *
 * @param watch called for each request; returns undefined if nothing observes it
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

/** Passes a body on and reports its bytes and its end. */
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
