import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { mostOpenFiles } from "../../../ffi/processes/proc.ts";
import { CliError } from "../../cli_error.ts";
import { problemResponse } from "../problems.ts";
import { once } from "node:events";
import { Buffer } from "node:buffer";
import { Duplex } from "node:stream";
import { cString } from "../../../ffi/c_string.ts";
import { closeFd } from "../../../ffi/descriptors/fd.ts";
import { libc } from "../../../ffi/libc.ts";

/** The address for HTTP, and the function that answers. */
export interface ListeningOptions {
  readonly at:
    | { readonly path: string }
    | { readonly hostname: string; readonly port: number };
  /** @param gone aborted when the client has disconnected */
  readonly handler: (request: Request, gone: AbortSignal) => Promise<Response>;
  /**
   * Whether a request shows that its connection is the user's. The number of other connections is limited, and each is
   * closed after its first answer. By default, every connection is the user's.
   */
  readonly isAuthenticated?: ((request: Request) => boolean) | undefined;
  /** Files to close when connections have used up the limit of open files. */
  readonly reserve: FileReserve;
  /** Called with errors that are bugs of this program, and with the reason when connections are closed. */
  readonly onInternalError: (error: unknown) => void;
}

/** How long no connection is accepted after the limit was reached, in milliseconds. */
const RETRY_MS = 100;
/** The interval at which the number of open files is checked, in milliseconds. */
const CHECK_INTERVAL_MS = 1000;

/**
 * The maximum number of unauthenticated connections: an absolute number, and a share of the maximum number of open
 * files.
 */
const MAX_UNAUTHENTICATED = 64;
const UNAUTHENTICATED_SHARE = 1 / 8;
/**
 * The number of bytes of a read. It is small before a connection is authenticated, because Node creates objects for all
 * requests in the read data.
 */
const UNAUTHENTICATED_READ_BYTES = 2048;
const READ_BYTES = 16 * 1024;

/**
 * An HTTP/1 server. When too many connections are open, or no file can be opened, it closes connections without a
 * running request. It accepts new ones when there is room.
 *
 * It accepts connections itself: Deno 2.9.6's `Deno.serve` keeps a connection open after a refusal until all of the
 * request's body has arrived, cannot close a single connection, and ends when no more files can be opened.
 */
export class HttpServer {
  readonly #options: ListeningOptions;
  readonly #listener: Deno.Listener<Deno.UnixConn | Deno.TcpConn>;
  readonly #node: ReturnType<typeof createServer>;
  readonly #connections = new Set<HttpConnection>();
  /** Connections that have not shown that they are the user's, the oldest one first. */
  readonly #unauthenticated = new Set<HttpConnection>();
  readonly #maxUnauthenticated = Math.min(
    MAX_UNAUTHENTICATED,
    Math.floor(mostOpenFiles() * UNAUTHENTICATED_SHARE),
  );
  readonly #checking: ReturnType<typeof setInterval>;
  #isClosing = false;

  /** @throws {Deno.errors.AddrInUse} and its relatives when the address cannot be used */
  constructor(options: ListeningOptions) {
    this.#options = options;
    const { at, onInternalError } = options;
    this.#listener = "path" in at
      ? Deno.listen({ transport: "unix", path: at.path })
      : Deno.listen(at);
    if ("path" in at) Deno.chmodSync(at.path, 0o600);
    // A body may take as long as its route allows, such as keys that a person types.
    this.#node = createServer({ requestTimeout: 0, keepAliveTimeout: 0 }, (request, response) => {
      this.#answer(request, response).catch(onInternalError);
    });
    // Deno 2.9.6 closes a connection after its first answer unless the server itself listens.
    Object.defineProperty(this.#node, "listening", { get: () => !this.#isClosing });
    this.#acceptAll().catch(onInternalError);
    this.#checking = setInterval(() => this.#checkOpenFiles(), CHECK_INTERVAL_MS);
    Deno.unrefTimer(this.#checking);
  }

  /** The TCP port, if the server listens on one. */
  get port(): number | undefined {
    const { addr } = this.#listener;
    return addr.transport === "tcp" ? addr.port : undefined;
  }

  /** Accepts no more requests, and resolves when the running requests are answered. */
  async close(): Promise<void> {
    this.#stop();
    this.#closeIdle();
    await Promise.all(
      [...this.#connections].map((each) => new Promise((resolve) => each.once("close", resolve))),
    );
  }

  /** Closes all connections immediately. */
  abort(): void {
    this.#stop();
    for (const connection of this.#connections) connection.destroy();
  }

  #stop(): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    clearInterval(this.#checking);
    this.#listener.close();
  }

  async #acceptAll(): Promise<void> {
    const { reserve, onInternalError } = this.#options;
    while (!this.#isClosing) {
      try {
        this.#add(await this.#listener.accept());
      } catch (error) {
        if (this.#isClosing) return;
        reserve.release();
        onInternalError(new CliError(`Cannot take connections: ${(error as Error).message}`));
        this.#closeIdle();
        do await new Promise((resolve) => setTimeout(resolve, RETRY_MS)); while (
          !this.#isClosing && !reserve.fill()
        );
      }
    }
  }

  #add(conn: Deno.UnixConn | Deno.TcpConn): void {
    if ("setNoDelay" in conn) conn.setNoDelay();
    const needsAuthentication = this.#options.isAuthenticated !== undefined;
    const connection = new HttpConnection(
      conn,
      needsAuthentication ? UNAUTHENTICATED_READ_BYTES : READ_BYTES,
    );
    this.#connections.add(connection);
    if (needsAuthentication) this.#unauthenticated.add(connection);
    const [oldest] = this.#unauthenticated;
    if (oldest !== undefined && this.#unauthenticated.size > this.#maxUnauthenticated) {
      this.#unauthenticated.delete(oldest);
      oldest.destroy();
    }
    connection.once("close", () => {
      this.#connections.delete(connection);
      this.#unauthenticated.delete(connection);
    });
    this.#node.emit("connection", connection);
  }

  async #answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const connection = incoming.socket as unknown as HttpConnection;
    if (connection.ignoresInput) return;
    const gone = new AbortController();
    incoming.on("error", () => {});
    outgoing.on("close", () => gone.abort());
    outgoing.on("error", () => {});
    connection.runningRequests++;
    try {
      const request = webRequest(incoming);
      if (request !== undefined && this.#options.isAuthenticated?.(request) === true) {
        this.#unauthenticated.delete(connection);
        connection.readBytes = READ_BYTES;
      }
      connection.ignoresInput = this.#unauthenticated.has(connection);
      const response = request === undefined
        ? problemResponse({ status: 400, detail: "Cannot answer to a name that is none" })
        : await this.#options.handler(request, gone.signal);
      // A body that has not arrived yet may never arrive.
      if (this.#isClosing || !incoming.complete || connection.ignoresInput) {
        outgoing.setHeader("connection", "close");
      }
      await sendResponse(response, { to: outgoing, gone: gone.signal });
    } finally {
      connection.runningRequests--;
    }
  }

  #checkOpenFiles(): void {
    if (!this.#options.reserve.isCrowded) return;
    this.#options.onInternalError(
      new CliError("Cannot hold so many connections: those that ask for nothing are cut"),
    );
    this.#closeIdle();
  }

  #closeIdle(): void {
    for (const connection of this.#connections) {
      if (connection.runningRequests === 0) connection.destroy();
    }
  }
}

/** Converts a request of Node's HTTP server; undefined for a request that `Request` does not allow. */
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
        // Cancelling a body before it has arrived must not close the connection before the answer.
        ? { body: ReadableStream.from(request.iterator({ destroyOnReturn: false })) }
        : {}),
    });
  } catch {
    return undefined;
  }
}

/** Sends an answer as fast as the client reads it. Resolves when it is sent or `gone` is aborted. */
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
 * How long a client may still send after the last answer, in milliseconds. Closing immediately would reset the
 * connection, and the client could lose the answer.
 */
const LINGER_MS = 1000;

/** A connection of Deno's as a stream that Node's HTTP server can use. */
class HttpConnection extends Duplex {
  readonly #conn: Deno.Conn;
  #lingering: ReturnType<typeof setTimeout> | undefined;
  /** The number of unanswered requests. */
  runningRequests = 0;
  /** Whether input is read and dropped. */
  ignoresInput = false;
  /** The number of bytes of a read. */
  readBytes: number;

  constructor(conn: Deno.Conn, readBytes: number) {
    super({ allowHalfOpen: true });
    this.#conn = conn;
    this.readBytes = readBytes;
    // Node closes a broken connection, so there is nothing to report.
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
    do count = await this.#conn.read(bytes); while (this.ignoresInput && count !== null);
    this.push(count === null ? null : Buffer.from(bytes.buffer, 0, count));
  }

  async #write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length;) at += await this.#conn.write(bytes.subarray(at));
  }
}

/** The number of files that a run or a conversation opens, including its connection and a margin. */
const FILES_PER_RUN = 32;

/** The maximum number of reserved files: an absolute number, and a share of the maximum number of open files. */
const MAX_RESERVED = 2 * FILES_PER_RUN;
const RESERVED_SHARE = 1 / 8;

const O_CLOEXEC = 0o2000000;

/**
 * The highest descriptor, without those of runs, above which there are too many connections. An idle connection takes 4
 * kB of memory.
 */
const MAX_FD = 16_384;

/**
 * Open files that are closed when connections have used up the limit of open files, so that the running work can still
 * open some.
 */
export class FileReserve implements Disposable {
  readonly #files: Deno.FsFile[] = [];
  readonly #size: number;
  readonly #runs: () => number;

  /** @param options.runs returns the number of runs and conversations, whose files do not count as connections */
  constructor({ runs }: { readonly runs: () => number }) {
    this.#runs = runs;
    this.#size = Math.min(MAX_RESERVED, Math.floor(mostOpenFiles() * RESERVED_SHARE));
    this.fill();
  }

  /** Whether so many files are open that idle connections have to be closed. */
  get isCrowded(): boolean {
    // A new descriptor is the lowest free one, so it shows how many are open.
    const fd = libc().open(cString("/dev/null"), O_CLOEXEC);
    if (fd !== -1) closeFd(fd);
    return fd === -1 || fd > MAX_FD + FILES_PER_RUN * this.#runs();
  }

  /** Opens the missing files. If that fails, closes all of them and returns false. */
  fill(): boolean {
    try {
      while (this.#files.length < this.#size) this.#files.push(Deno.openSync("/dev/null"));
      return true;
    } catch {
      this.release();
      return false;
    }
  }

  release(): void {
    for (const file of this.#files.splice(0)) file.close();
  }

  [Symbol.dispose](): void {
    this.release();
  }
}
