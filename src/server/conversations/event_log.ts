import { RegularFile } from "../../../ffi/files/regular_file.ts";
import { joinedBytes } from "../../joined_bytes.ts";
import { tryRemove } from "../../../ffi/files/at_path.ts";

export interface LoggedEvent {
  /** The event's number, from 1. */
  readonly id: number;
  /** One line of JSON. */
  readonly text: string;
}

/** Limits of a log, in bytes. */
export interface EventLogLimits {
  readonly onDisk: number;
  /** The maximum size of events that could not be written yet. */
  readonly inMemory: number;
}

const LIMITS: EventLogLimits = { onDisk: 1024 * 1024 * 1024, inMemory: 4 * 1024 * 1024 };

/** The offset of every 64th event is kept in memory, so that a reader can start near any event. */
const STRIDE = 64;

/** The interval at which pending events are written again, in milliseconds. */
const RETRY_MS = 1000;

/** The number of bytes of a read. */
const READ_BYTES = 64 * 1024;

const LINE_FEED = 0x0a;

/**
 * The events of a conversation, in a file. Each reader gets all events at its own speed, and needs memory only for the
 * current piece.
 *
 * While the disk is full, events are pending in memory. When they exceed their limit, the log ends: readers get the
 * events so far, and `problem` has the reason.
 */
export class EventLog implements Disposable {
  readonly #path: string;
  readonly #file: Deno.FsFile;
  readonly #limits: EventLogLimits;
  readonly #encoder = new TextEncoder();
  /** Offsets of the events 1, 1 + STRIDE, 1 + 2 STRIDE, … */
  readonly #offsets: number[] = [];
  /** The number of bytes and of events in the file. */
  #size = 0;
  #writtenCount = 0;
  #pending: Uint8Array<ArrayBuffer>[] = [];
  #pendingBytes = 0;
  #hasEnded = false;
  #problem: string | undefined;
  #retryTimer: ReturnType<typeof setInterval> | undefined;
  /** Wake readers that have read all events. */
  readonly #waiting = new Set<() => void>();

  /** @throws {Error} when the file cannot be created */
  constructor(path: string, limits: EventLogLimits = LIMITS) {
    this.#path = path;
    this.#limits = limits;
    this.#file = Deno.openSync(path, { append: true, createNew: true, mode: 0o600 });
  }

  /** The number of the last event, 0 without events. */
  get lastId(): number {
    return this.#writtenCount + this.#pending.length;
  }

  /** Whether no more events can be added. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Why events at the end are missing; undefined if none are. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Adds an event, unless the log has ended. */
  append(text: string): void {
    if (this.#hasEnded) return;
    const bytes = this.#encoder.encode(`${text}\n`);
    this.#pending.push(bytes);
    this.#pendingBytes += bytes.length;
    const problem = this.#write();
    if (problem !== undefined && this.#pendingBytes > this.#limits.inMemory) this.#giveUp(problem);
    else if (problem !== undefined) this.#retry();
    this.#wakeReaders();
  }

  /** Ends the log. */
  end(): void {
    if (this.#hasEnded) return;
    const problem = this.#write();
    if (problem === undefined) this.#close();
    else this.#giveUp(problem);
    this.#wakeReaders();
  }

  /**
   * Yields the events after an event, waits for further ones, and returns when the log has ended.
   *
   * @param after the number of an event; 0 for all
   * @param gone aborted when the reader wants no more
   */
  async *read(after: number, gone: AbortSignal): AsyncGenerator<LoggedEvent> {
    using file = new RegularFile(this.#path);
    const decoder = new TextDecoder();
    const block = Math.max(0, Math.min(Math.floor(after / STRIDE), this.#offsets.length - 1));
    let at = this.#offsets[block] ?? 0;
    let id = block * STRIDE;
    let rest: Uint8Array<ArrayBuffer> = new Uint8Array();
    let wake = () => {};
    gone.addEventListener("abort", () => wake(), { once: true });
    while (!gone.aborted) {
      this.#write();
      while (at < this.#size && !gone.aborted) {
        const piece = new Uint8Array(Math.min(READ_BYTES, this.#size - at));
        const count = file.read(piece, at);
        if (count === 0) throw new Error("The events of the conversation are gone");
        at += count;
        const bytes = joinedBytes([rest, piece.subarray(0, count)]);
        let begin = 0;
        for (let end = bytes.indexOf(LINE_FEED); end !== -1;) {
          id++;
          if (id > after) yield { id, text: decoder.decode(bytes.subarray(begin, end)) };
          begin = end + 1;
          end = bytes.indexOf(LINE_FEED, begin);
        }
        rest = bytes.slice(begin);
      }
      if (gone.aborted || (this.#hasEnded && at >= this.#size)) return;
      await new Promise<void>((resolve) => {
        wake = resolve;
        this.#waiting.add(resolve);
      });
      this.#waiting.delete(wake);
    }
  }

  /** Ends the log and removes its file. Current readers can still read all of it. */
  [Symbol.dispose](): void {
    this.end();
    tryRemove(this.#path);
  }

  /** Writes pending events. Returns the reason when that fails. */
  #write(): string | undefined {
    while (!this.#hasEnded) {
      const [bytes] = this.#pending;
      if (bytes === undefined) return undefined;
      if (this.#size + bytes.length > this.#limits.onDisk) return "it is too long";
      try {
        for (let done = 0; done < bytes.length;) {
          done += this.#file.writeSync(bytes.subarray(done));
        }
      } catch (error) {
        this.#undo();
        return (error as Error).message;
      }
      if (this.#writtenCount % STRIDE === 0) this.#offsets.push(this.#size);
      this.#size += bytes.length;
      this.#writtenCount++;
      this.#pendingBytes -= bytes.length;
      this.#pending.shift();
    }
    return undefined;
  }

  /** Tries again until pending events are written, even when no further event comes. */
  #retry(): void {
    this.#retryTimer ??= setInterval(() => {
      if (this.#write() !== undefined) return;
      this.#stopRetrying();
      this.#wakeReaders();
    }, RETRY_MS);
  }

  #stopRetrying(): void {
    clearInterval(this.#retryTimer);
    this.#retryTimer = undefined;
  }

  /** Removes a partly written event. */
  #undo(): void {
    try {
      this.#file.truncateSync(this.#size);
    } catch {
      // Readers stop at #size, before the partly written event.
    }
  }

  #giveUp(why: string): void {
    this.#problem = `Cannot keep the conversation's events: ${why}`;
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#close();
  }

  #close(): void {
    this.#hasEnded = true;
    this.#stopRetrying();
    this.#file.close();
  }

  #wakeReaders(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }
}
