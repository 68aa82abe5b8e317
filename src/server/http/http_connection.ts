import { Buffer } from "node:buffer";
import { Duplex } from "node:stream";

/**
 * How long the client of a connection that is being closed may still send, in milliseconds. Closed at once, the
 * connection would be reset, and the client could lose the answer.
 */
const LINGER_MS = 1000;

/** A connection of Deno's as a stream of Node's, which its HTTP server can use and this program can close. */
export class HttpConnection extends Duplex {
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
