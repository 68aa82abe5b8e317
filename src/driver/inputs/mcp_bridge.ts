import { closeFd, readFd } from "../../../ffi/descriptors/fd.ts";
import { openFifo } from "../../../ffi/descriptors/pipe.ts";
import type { Interest, Ready } from "../../../ffi/descriptors/poll.ts";
import { WriteQueue } from "../../../ffi/descriptors/write_queue.ts";
import {
  type Bridge,
  DOWN_SUFFIX,
  IN_SUFFIX,
  OUT_SUFFIX,
  UP_SUFFIX,
} from "../../sandbox/folder/folder_layout.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";
import { createLineSplitter } from "../../claude/transcript/line_splitter.ts";
import { isTooDeep } from "../../claude/wire/json_text.ts";

/** The maximum number of bytes of a read: the capacity of a FIFO, pipe(7). */
const MAX_READ = 65_536;
/** The maximum number of unread bytes. Beyond it, further messages are dropped. */
const MOST_UNREAD = 256 * 1024 * 1024;

/** An MCP connection over two FIFOs, with one message in each line. */
class Connection implements Disposable {
  readonly #up: number;
  readonly #down: number;
  readonly #lines = createLineSplitter();
  readonly #owed = new WriteQueue();
  readonly #buffer = new Uint8Array(MAX_READ);

  /** @param options the paths of the FIFOs to read from and to write to */
  constructor({ from, to }: { readonly from: string; readonly to: string }) {
    this.#up = openFifo(from);
    this.#down = openFifo(to);
  }

  /** The descriptors to poll. */
  get interests(): readonly Interest[] {
    const owing = this.#owed.pending > 0 ? [{ fd: this.#down, write: true }] : [];
    return [{ fd: this.#up, read: true }, ...owing];
  }

  /** Reads the messages after a poll. Lines that are no JSON objects are left out. */
  take(ready: readonly Ready[]): readonly JsonObject[] {
    if (ready.some(({ fd, writable }) => fd === this.#down && writable)) {
      this.#owed.flush(this.#down);
    }
    if (!ready.some(({ fd, readable }) => fd === this.#up && readable)) return [];
    const count = readFd(this.#up, this.#buffer);
    if (typeof count !== "number") return [];
    return this.#lines.push(this.#buffer.subarray(0, count)).flatMap(readMessage);
  }

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

/**
 * The child's connection to an MCP server. This program may be the server, for its caller or for itself. Otherwise the
 * server is another program: then messages between the child and the program are passed on unchanged, and this program
 * can also ask the server.
 */
export class McpBridge implements Disposable {
  readonly server: string;
  readonly #child: Connection;
  readonly #program: Connection | undefined;
  /** Ids of our own requests to the program. */
  readonly #asked = new Set<unknown>();

  constructor({ server, path, isRelayed }: Bridge) {
    this.server = server;
    using stack = new DisposableStack();
    this.#child = stack.use(
      new Connection({ from: `${path}${UP_SUFFIX}`, to: `${path}${DOWN_SUFFIX}` }),
    );
    this.#program = isRelayed
      ? stack.use(new Connection({ from: `${path}${OUT_SUFFIX}`, to: `${path}${IN_SUFFIX}` }))
      : undefined;
    stack.move();
  }

  /** The descriptors to poll. */
  get interests(): readonly Interest[] {
    return [...this.#child.interests, ...this.#program?.interests ?? []];
  }

  /**
   * Takes the messages to this program after a poll: the child's messages, or the server program's answers to our own
   * requests and its lists of tools.
   */
  take(ready: readonly Ready[]): readonly JsonObject[] {
    const program = this.#program;
    const said = this.#child.take(ready);
    if (program === undefined) return said;
    for (const message of said) program.send(message);
    return program.take(ready).filter((message) => {
      const isOurs = this.#asked.delete(message["id"]);
      if (!isOurs) this.#child.send(message);
      return isOurs || listsTools(message);
    });
  }

  /** Sends a message to the child, or a request to the program that is the server. */
  send(message: JsonObject): void {
    if (this.#program !== undefined) this.#asked.add(message["id"]);
    (this.#program ?? this.#child).send(message);
  }

  [Symbol.dispose](): void {
    this.#child[Symbol.dispose]();
    this.#program?.[Symbol.dispose]();
  }
}

function listsTools({ result }: JsonObject): boolean {
  return isJsonObject(result) && Array.isArray(result["tools"]);
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
