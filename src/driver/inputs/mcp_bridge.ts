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

/** Most bytes of one read: what a FIFO holds, pipe(7). */
const MAX_READ = 65_536;
/** Most bytes that wait for a child which does not read them: whoever answers without end answers nobody. */
const MOST_UNREAD = 256 * 1024 * 1024;

/** A connection by which MCP is spoken: a message a line. */
class Connection implements Disposable {
  readonly #up: number;
  readonly #down: number;
  readonly #lines = createLineSplitter();
  readonly #owed = new WriteQueue();
  readonly #buffer = new Uint8Array(MAX_READ);

  /** @param options the paths of the FIFOs that are read and written here */
  constructor({ from, to }: { readonly from: string; readonly to: string }) {
    this.#up = openFifo(from);
    this.#down = openFifo(to);
  }

  /** What to wait for. */
  get interests(): readonly Interest[] {
    const owing = this.#owed.pending > 0 ? [{ fd: this.#down, write: true }] : [];
    return [{ fd: this.#up, read: true }, ...owing];
  }

  /** The messages that have come since the last time; what is no message of JSON-RPC is left out. */
  take(ready: readonly Ready[]): readonly JsonObject[] {
    if (ready.some(({ fd, writable }) => fd === this.#down && writable)) {
      this.#owed.flush(this.#down);
    }
    if (!ready.some(({ fd, readable }) => fd === this.#up && readable)) return [];
    const count = readFd(this.#up, this.#buffer);
    if (typeof count !== "number") return [];
    return this.#lines.push(this.#buffer.subarray(0, count)).flatMap(readMessage);
  }

  /** Says something to whoever is at the other end. */
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
 * The child's connection to an MCP server that this program is, in the caller's name or its own; or to a program behind
 * it, which both may ask: then what the child and the program say to each other is passed on as it is.
 */
export class McpBridge implements Disposable {
  readonly server: string;
  readonly #child: Connection;
  readonly #program: Connection | undefined;
  /** Ids of what the program was asked here. */
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

  /** What to wait for. */
  get interests(): readonly Interest[] {
    return [...this.#child.interests, ...this.#program?.interests ?? []];
  }

  /**
   * What has been said to this program since the last time: by the child, or by the program behind the bridge, of which
   * it hears its answers, and which tools it has.
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

  /** Says something to the child, or asks the program behind the bridge. */
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
