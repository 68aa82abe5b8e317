import { RegularFile } from "../../../ffi/files/regular_file.ts";
import { joinedBytes } from "../../joined_bytes.ts";

/** An event of a conversation. */
export interface LoggedEvent {
  /** Its number, from 1. */
  readonly id: number;
  /** JSON on one line. */
  readonly text: string;
}

/** How much of a log may be there, in bytes. */
export interface EventLogLimits {
  readonly onDisk: number;
  /** What waits for room on the disk. */
  readonly inMemory: number;
}

const LIMITS: EventLogLimits = { onDisk: 1024 * 1024 * 1024, inMemory: 4 * 1024 * 1024 };

/** The place of every so manieth event is remembered. */
const STRIDE = 64;

/** How often it is tried to write what waits for room, in milliseconds. */
const RETRY_MS = 1000;

/** Bytes that are read at once. */
const PIECE = 64 * 1024;

const LINE_FEED = 0x0a;

/**
 * The events of a conversation, in a file. However many read them and however slowly, each has all of them, none waits for
 * another, and in memory is no more of them than what the readers are at.
 *
 * What cannot be written, because the disk is full, waits in memory until it can. Once that is too much, the log is at its
 * end: who reads so far is told why.
 */
export class EventLog implements Disposable {
  readonly #path: string;
  readonly #file: Deno.FsFile;
  readonly #limits: EventLogLimits;
  readonly #encoder = new TextEncoder();
  /** Where event 1, 1 + STRIDE, 1 + 2 STRIDE … begin. */
  readonly #places: number[] = [];
  /** Bytes and events that are in the file. */
  #size = 0;
  #written = 0;
  #pending: Uint8Array<ArrayBuffer>[] = [];
  #owed = 0;
  #isOver = false;
  #problem: string | undefined;
  #retrying: ReturnType<typeof setInterval> | undefined;
  /** Readers that are at the end. */
  readonly #waiting = new Set<() => void>();

  /** @throws {Error} when the file cannot be made */
  constructor(path: string, limits: EventLogLimits = LIMITS) {
    this.#path = path;
    this.#limits = limits;
    this.#file = Deno.openSync(path, { append: true, createNew: true, mode: 0o600 });
  }

  /** The number of the last event. */
  get last(): number {
    return this.#written + this.#pending.length;
  }

  /** Whether nothing is added any more. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Why events are missing at its end, if some are. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Takes an event, unless it is over. */
  append(text: string): void {
    if (this.#isOver) return;
    const bytes = this.#encoder.encode(`${text}\n`);
    this.#pending.push(bytes);
    this.#owed += bytes.length;
    const problem = this.#write();
    if (problem !== undefined && this.#owed > this.#limits.inMemory) this.#giveUp(problem);
    else if (problem !== undefined) this.#retry();
    this.#tell();
  }

  /** There are no more events. */
  end(): void {
    if (this.#isOver) return;
    const problem = this.#write();
    if (problem === undefined) this.#close();
    else this.#giveUp(problem);
    this.#tell();
  }

  /**
   * Reads the events after one, waits for those to come, and ends with the log.
   *
   * @param after the number of an event; 0 for all
   * @param gone who aborts it wants no more
   */
  async *read(after: number, gone: AbortSignal): AsyncGenerator<LoggedEvent> {
    using file = new RegularFile(this.#path);
    const decoder = new TextDecoder();
    const block = Math.max(0, Math.min(Math.floor(after / STRIDE), this.#places.length - 1));
    let at = this.#places[block] ?? 0;
    let id = block * STRIDE;
    let rest: Uint8Array<ArrayBuffer> = new Uint8Array();
    let wake = () => {};
    gone.addEventListener("abort", () => wake(), { once: true });
    while (!gone.aborted) {
      this.#write();
      while (at < this.#size && !gone.aborted) {
        const piece = new Uint8Array(Math.min(PIECE, this.#size - at));
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
      if (gone.aborted || (this.#isOver && at >= this.#size)) return;
      await new Promise<void>((resolve) => {
        wake = resolve;
        this.#waiting.add(resolve);
      });
      this.#waiting.delete(wake);
    }
  }

  /** Ends it and removes it; whoever is reading it still reads what there is. */
  [Symbol.dispose](): void {
    this.end();
    try {
      Deno.removeSync(this.#path);
    } catch {
      // The folder is gone already.
    }
  }

  /** Writes what waits; says why it cannot. */
  #write(): string | undefined {
    while (!this.#isOver) {
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
      if (this.#written % STRIDE === 0) this.#places.push(this.#size);
      this.#size += bytes.length;
      this.#written++;
      this.#owed -= bytes.length;
      this.#pending.shift();
    }
    return undefined;
  }

  /** Whoever reads what is the last thing for a while has it once there is room, whether or not anything follows. */
  #retry(): void {
    this.#retrying ??= setInterval(() => {
      if (this.#write() !== undefined) return;
      this.#stopRetrying();
      this.#tell();
    }, RETRY_MS);
  }

  #stopRetrying(): void {
    clearInterval(this.#retrying);
    this.#retrying = undefined;
  }

  /** Takes back what is only a part of an event. */
  #undo(): void {
    try {
      this.#file.truncateSync(this.#size);
    } catch {
      // It is not read: readers stop where whole events end.
    }
  }

  #giveUp(why: string): void {
    this.#problem = `Cannot keep the conversation's events: ${why}`;
    this.#pending = [];
    this.#owed = 0;
    this.#close();
  }

  #close(): void {
    this.#isOver = true;
    this.#stopRetrying();
    this.#file.close();
  }

  #tell(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }
}
