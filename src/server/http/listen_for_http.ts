import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { mostOpenFiles } from "../../../ffi/processes/most_open_files.ts";
import { CliError } from "../../cli_error.ts";
import { problemResponse } from "../problems.ts";
import { once } from "node:events";
import { Buffer } from "node:buffer";
import { Duplex } from "node:stream";
import { cString } from "../../../ffi/c_string.ts";
import { closeFd } from "../../../ffi/descriptors/fd.ts";
import { libc } from "../../../ffi/libc.ts";

/** Where HTTP is listened for, and how it is answered. */
export interface ListeningOptions {
  readonly at:
    | { readonly path: string }
    | { readonly hostname: string; readonly port: number };
  /** @param gone aborted once the client waits for the answer no longer */
  readonly handler: (request: Request, gone: AbortSignal) => Promise<Response>;
  /**
   * Whether a request shows that its connection is the user's. Connections without such a request are few, and each is
   * closed after its first answer. By default every connection is the user's.
   */
  readonly isKnown?: ((request: Request) => boolean) | undefined;
  /** Files that are given up where connections have taken all others. */
  readonly reserve: FileReserve;
  /** Takes what is a mistake of this program, and why connections were closed. */
  readonly onMistake: (error: unknown) => void;
}

/** A server of HTTP. */
export interface HttpServer {
  /** The port, where it has one. */
  readonly port: number | undefined;
  /** Takes no more requests, and resolves when those under way are answered. */
  readonly close: () => Promise<void>;
  /** Cuts whatever is under way. */
  readonly cut: () => void;
}

/** How long no connection is accepted after a crowd, and how often the server looks for one, in milliseconds. */
const RESTING_MS = 100;
const LOOK_MS = 1000;

/** How many connections of strangers there may be: at most, and as a part of all files that may be open. */
const MOST_STRANGERS = 64;
const SHARE_OF_STRANGERS = 1 / 8;
/** How much is read at once, in bytes: little of a stranger's, because Node makes objects of all requests in it. */
const READ_OF_STRANGER = 2048;
const READ = 16 * 1024;

/**
 * Listens for HTTP/1. Where connections have taken all files that may be open, or are too many, those without a request
 * under way are closed, and others are accepted once there is room.
 *
 * The server accepts connections by itself: Deno 2.9.6's `Deno.serve` keeps a connection open after a refusal until all
 * of the request's body has come, cannot close one connection, and ends where it can open no more files.
 *
 * @throws {Deno.errors.AddrInUse} and its relatives when the address cannot be had
 */
export function listenForHttp(options: ListeningOptions): HttpServer {
  const { at, handler, isKnown, reserve, onMistake } = options;
  const listener: Deno.Listener<Deno.UnixConn | Deno.TcpConn> = "path" in at
    ? Deno.listen({ transport: "unix", path: at.path })
    : Deno.listen(at);
  if ("path" in at) Deno.chmodSync(at.path, 0o600);
  const connections = new Set<HttpConnection>();
  /** Those of `connections` that have not shown that they are the user's, the oldest one first. */
  const strangers = new Set<HttpConnection>();
  const mostStrangers = Math.min(MOST_STRANGERS, Math.floor(mostOpenFiles() * SHARE_OF_STRANGERS));
  let isClosing = false;

  const answer = async (asked: IncomingMessage, answered: ServerResponse): Promise<void> => {
    const connection = asked.socket as unknown as HttpConnection;
    if (connection.isDeaf) return;
    const gone = new AbortController();
    asked.on("error", () => {});
    answered.on("close", () => gone.abort());
    answered.on("error", () => {});
    connection.requests++;
    try {
      const request = webRequest(asked);
      if (request !== undefined && isKnown?.(request) === true) {
        strangers.delete(connection);
        connection.readBytes = READ;
      }
      connection.isDeaf = strangers.has(connection);
      const response = request === undefined
        ? problemResponse({ status: 400, detail: "Cannot answer to a name that is none" })
        : await handler(request, gone.signal);
      // A body that has not come by now may never come.
      if (isClosing || !asked.complete || connection.isDeaf) {
        answered.setHeader("connection", "close");
      }
      await sendResponse(response, { to: answered, gone: gone.signal });
    } finally {
      connection.requests--;
    }
  };
  // A body may take as long as its resource says, such as keys that a person types.
  const server = createServer({ requestTimeout: 0, keepAliveTimeout: 0 }, (asked, answered) => {
    answer(asked, answered).catch(onMistake);
  });
  // Deno 2.9.6 closes a connection after its first answer where the server is not the one that listens.
  Object.defineProperty(server, "listening", { get: () => !isClosing });

  const hold = (conn: Deno.UnixConn | Deno.TcpConn) => {
    if ("setNoDelay" in conn) conn.setNoDelay();
    const connection = new HttpConnection(conn, isKnown === undefined ? READ : READ_OF_STRANGER);
    connections.add(connection);
    if (isKnown !== undefined) strangers.add(connection);
    const [oldest] = strangers;
    if (oldest !== undefined && strangers.size > mostStrangers) {
      strangers.delete(oldest);
      oldest.destroy();
    }
    connection.once("close", () => {
      connections.delete(connection);
      strangers.delete(connection);
    });
    server.emit("connection", connection);
  };
  const closeIdle = () => {
    for (const connection of connections) if (connection.requests === 0) connection.destroy();
  };
  const accept = async () => {
    while (!isClosing) {
      try {
        hold(await listener.accept());
      } catch (error) {
        if (isClosing) return;
        reserve.release();
        onMistake(new CliError(`Cannot take connections: ${(error as Error).message}`));
        closeIdle();
        do await new Promise((resolve) => setTimeout(resolve, RESTING_MS)); while (
          !isClosing && !reserve.fill()
        );
      }
    }
  };
  accept().catch(onMistake);
  const looking = setInterval(() => {
    if (!reserve.isCrowded) return;
    onMistake(new CliError("Cannot hold so many connections: those that ask for nothing are cut"));
    closeIdle();
  }, LOOK_MS);
  Deno.unrefTimer(looking);
  const stop = () => {
    if (isClosing) return;
    isClosing = true;
    clearInterval(looking);
    listener.close();
  };
  return {
    port: listener.addr.transport === "tcp" ? listener.addr.port : undefined,
    close: async () => {
      stop();
      closeIdle();
      await Promise.all(
        [...connections].map((each) => new Promise((resolve) => each.once("close", resolve))),
      );
    },
    cut: () => {
      stop();
      for (const connection of connections) connection.destroy();
    },
  };
}

/** A request of Node's HTTP server as one of the web's; undefined where the web has no such request. */
function webRequest(request: IncomingMessage): Request | undefined {
  const { method = "GET", url = "/", headers } = request;
  const hasBody = "content-length" in headers || "transfer-encoding" in headers;
  const fields = Object.entries(request.headersDistinct)
    .flatMap(([name, values = []]) => values.map((value): [string, string] => [name, value]));
  try {
    return new Request(url.startsWith("/") ? `http://${headers.host ?? "localhost"}${url}` : url, {
      method,
      headers: fields,
      ...(hasBody && !["GET", "HEAD"].includes(method)
        // Node would close the connection before the answer when a body is given up that has not arrived.
        ? { body: ReadableStream.from(request.iterator({ destroyOnReturn: false })) }
        : {}),
    });
  } catch {
    return undefined;
  }
}

/** Sends an answer, as fast as the client reads it, and resolves when it is sent or `gone` is aborted. */
async function sendResponse(
  { status, headers, body }: Response,
  { to, gone }: { readonly to: ServerResponse; readonly gone: AbortSignal },
): Promise<void> {
  to.writeHead(status, Object.fromEntries(headers));
  const reader = body?.getReader();
  const cancel = () => void reader?.cancel().catch(() => {});
  gone.addEventListener("abort", cancel, { once: true });
  try {
    if (gone.aborted) return cancel();
    to.flushHeaders();
    for (;;) {
      const { done, value } = await reader?.read() ?? { done: true, value: undefined };
      if (done || gone.aborted) break;
      if (!to.write(value)) await once(to, "drain", { signal: gone });
    }
    to.end();
    if (!to.writableFinished) await once(to, "finish", { signal: gone });
  } catch (error) {
    cancel();
    to.destroy();
    if (!gone.aborted) throw error;
  } finally {
    gone.removeEventListener("abort", cancel);
  }
}

/**
 * How long the client of a connection that is being closed may still send, in milliseconds. Closed at once, the
 * connection would be reset, and the client could lose the answer.
 */
const LINGER_MS = 1000;

/** A connection of Deno's as a stream of Node's, which its HTTP server can use and this program can close. */
class HttpConnection extends Duplex {
  readonly #conn: Deno.Conn;
  #lingering: ReturnType<typeof setTimeout> | undefined;
  /** How many requests are under way on it. */
  requests = 0;
  /** Whether what the client still sends is dropped. */
  isDeaf = false;
  /** How much is read at once, in bytes. */
  readBytes: number;

  constructor(conn: Deno.Conn, readBytes: number) {
    super({ allowHalfOpen: true });
    this.#conn = conn;
    this.readBytes = readBytes;
    // A connection that breaks is closed; there is nothing to report.
    this.on("error", () => {});
  }

  override _read(): void {
    this.#read().catch((error: Error) => this.destroy(error));
  }

  override _write(
    bytes: Uint8Array,
    _encoding: string,
    done: (error?: Error | null) => void,
  ): void {
    this.#write(bytes).then(() => done(), done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#conn.closeWrite().catch(() => this.destroy()).finally(() => done());
    this.#lingering = setTimeout(() => this.destroy(), LINGER_MS);
    Deno.unrefTimer(this.#lingering);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearTimeout(this.#lingering);
    this.#conn.close();
    done(error);
  }

  async #read(): Promise<void> {
    const bytes = new Uint8Array(this.readBytes);
    let count: number | null;
    do count = await this.#conn.read(bytes); while (this.isDeaf && count !== null);
    this.push(count === null ? null : Buffer.from(bytes.buffer, 0, count));
  }

  async #write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length;) at += await this.#conn.write(bytes.subarray(at));
  }
}

/** How many files a run or a conversation has open, its connection among them, with some to spare. */
const OF_RUN = 32;

/** How many files are held back, at most and as a part of all that may be open. */
const MOST = 2 * OF_RUN;
const SHARE = 1 / 8;

const O_CLOEXEC = 0o2000000;

/**
 * The highest fd that may be in use before there are too many connections, whatever the system allows, where nothing else
 * takes files: one that asks for nothing takes some 4 kB of memory.
 */
const HIGHEST_FD = 16_384;

/**
 * Files that are open for nothing but to be closed: where connections have taken all that may be open, what is under way
 * still gets some.
 */
export class FileReserve implements Disposable {
  readonly #files: Deno.FsFile[] = [];
  readonly #size: number;
  readonly #runs: () => number;

  /** @param options.runs how many runs and conversations there are, whose files are none of connections */
  constructor({ runs }: { readonly runs: () => number }) {
    this.#runs = runs;
    this.#size = Math.min(MOST, Math.floor(mostOpenFiles() * SHARE));
    this.fill();
  }

  /** Whether there are so many files open that connections have to go; it says nothing of those that are held back. */
  get isCrowded(): boolean {
    // It is the lowest one that was free.
    const fd = libc().open(cString("/dev/null"), O_CLOEXEC);
    if (fd !== -1) closeFd(fd);
    return fd === -1 || fd > HIGHEST_FD + OF_RUN * this.#runs();
  }

  /** Holds back what is missing, and says whether all of it could be had. */
  fill(): boolean {
    try {
      while (this.#files.length < this.#size) this.#files.push(Deno.openSync("/dev/null"));
      return true;
    } catch {
      this.release();
      return false;
    }
  }

  /** Closes them all. */
  release(): void {
    for (const file of this.#files.splice(0)) file.close();
  }

  [Symbol.dispose](): void {
    this.release();
  }
}
