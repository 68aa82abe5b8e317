import { closeFd, readFd } from "../../../ffi/fd.ts";
import { openFifo } from "../../../ffi/fifo.ts";
import type { Interest, Ready } from "../../../ffi/poll.ts";
import { WriteQueue } from "../../../ffi/write_queue.ts";
import { DOWN_SUFFIX, UP_SUFFIX } from "../../sandbox/folder/bridge_fifos.ts";
import { isJsonObject, type JsonObject } from "../../transcript/json_object.ts";
import { createLineSplitter } from "../../transcript/line_splitter.ts";
import { isTooDeep } from "../../wire/is_too_deep.ts";

/** Most bytes of one read: what a FIFO holds, pipe(7). */
const MAX_READ = 65_536;
/** Most bytes that wait for a child which does not read them: whoever answers without end answers nobody. */
const MOST_UNREAD = 256 * 1024 * 1024;

/** The child's connection to an MCP server of the caller's. */
export class McpBridge implements Disposable {
  readonly server: string;
  readonly #up: number;
  readonly #down: number;
  readonly #lines = createLineSplitter();
  readonly #owed = new WriteQueue();
  readonly #buffer = new Uint8Array(MAX_READ);

  /** @param path that of its FIFOs, without what tells them apart */
  constructor(server: string, path: string) {
    this.server = server;
    this.#up = openFifo(`${path}${UP_SUFFIX}`);
    this.#down = openFifo(`${path}${DOWN_SUFFIX}`);
  }

  /** What to wait for. */
  get interests(): readonly Interest[] {
    const owing = this.#owed.pending > 0 ? [{ fd: this.#down, write: true }] : [];
    return [{ fd: this.#up, read: true }, ...owing];
  }

  /** The messages that the child has sent since the last time; what is no message of JSON-RPC is left out. */
  take(ready: readonly Ready[]): readonly JsonObject[] {
    if (ready.some(({ fd, writable }) => fd === this.#down && writable)) {
      this.#owed.flush(this.#down);
    }
    if (!ready.some(({ fd, readable }) => fd === this.#up && readable)) return [];
    const count = readFd(this.#up, this.#buffer);
    if (typeof count !== "number") return [];
    return this.#lines.push(this.#buffer.subarray(0, count)).flatMap(readMessage);
  }

  /** Says something to the child. */
  send(message: JsonObject): void {
    const line = new TextEncoder().encode(`${JSON.stringify(message)}\n`);
    if (this.#owed.pending + line.length > MOST_UNREAD) return;
    this.#owed.push(line);
    this.#owed.flush(this.#down);
  }

  [Symbol.dispose](): void {
    closeFd(this.#up);
    closeFd(this.#down);
  }
}

function readMessage(line: string): readonly JsonObject[] {
  if (line.trim() === "" || isTooDeep(line)) return [];
  try {
    const value: unknown = JSON.parse(line);
    return isJsonObject(value) ? [value] : [];
  } catch {
    return [];
  }
}
