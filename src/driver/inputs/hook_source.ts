import { namesIn } from "../../../ffi/files/at_path.ts";
import { closeFd, readFd, writeFd } from "../../../ffi/descriptors/fd.ts";
import { makeFifo, openFifo } from "../../../ffi/descriptors/pipe.ts";
import { readRegularFile } from "../../../ffi/files/regular_file.ts";
import { LibcError } from "../../../ffi/errno.ts";
import { ASKS, FORBID, REPLY_SUFFIX, STATUS_LINE, UNHEARD } from "../../sandbox/child/hooks.ts";
import { ANSWER_SUFFIX, END } from "../../sandbox/folder/folder_layout.ts";
import { readJsonObject } from "../../sandbox/read_json_object.ts";
import type { HookPayload } from "../../conversation/control/input.ts";

/** A call of one of our hooks. */
export interface HookCall {
  /** The name of the event, or `STATUS_LINE`. */
  readonly event: string;
  readonly payload: HookPayload;
  /** The id for the answer, if the hook waits for one. */
  readonly id?: string;
  /** The index of the caller's hook in whose place this hook runs. */
  readonly callback?: number;
  /** When the hook ran, in milliseconds since the epoch; absent if the file system has no times. */
  readonly ranAt?: number;
}

/** The maximum number of bytes of a read: the capacity of a FIFO, pipe(7). So a flood does not delay other inputs. */
const MAX_READ = 65536;
/** The maximum length of a line of our hooks, because longer lines are not written atomically, pipe(7). */
const MAX_LINE = 4096;
/** The line which means that the answer is in a file, or that there is none. */
const NO_LINE = new TextEncoder().encode("\n");
/** The maximum size of a payload, in bytes: a prompt of 10 MiB in which every character is escaped. */
const MAX_PAYLOAD = 128_000_000;

/** Reads the FIFO on which hooks announce their calls, and the files with their payloads. */
export class HookSource implements Disposable {
  readonly #fifoPath: string;
  #fd: number;
  /** The inode of the FIFO. */
  #inode: number | null;
  readonly #payloadDir: string;
  readonly #secret: string;
  readonly #buffer = new Uint8Array(4096);
  readonly #decoder = new TextDecoder();
  #partial = "";
  #unheard = false;

  constructor(
    sandbox: { readonly fifoPath: string; readonly payloadDir: string; readonly secret: string },
  ) {
    this.#fifoPath = sandbox.fifoPath;
    this.#fd = openFifo(sandbox.fifoPath);
    this.#inode = Deno.lstatSync(sandbox.fifoPath).ino;
    this.#payloadDir = sandbox.payloadDir;
    this.#secret = sandbox.secret;
  }

  /** The descriptor to poll. It changes if the FIFO had to be made again. */
  get fd(): number {
    return this.#fd;
  }

  /**
   * Recreates the FIFO if it was removed, for example by a cleaner of temporary files. A hook that finds no FIFO
   * creates a file at its path and writes its line to the file; the next read returns that call.
   *
   * @returns whether there may be calls to read
   */
  repairFifo(): boolean {
    const found = this.#inPlace();
    if (found !== undefined && found.ino === this.#inode) return false;
    try {
      const said = found?.isFile
        ? readRegularFile(this.#fifoPath, { limit: MAX_READ })
        : new Uint8Array();
      if (found !== undefined) Deno.removeSync(this.#fifoPath);
      this.#partial += this.#taken() + new TextDecoder().decode(said);
      // A hook may have created a file in the meantime. The next call reads it.
      if (!this.#makeFifo()) return true;
      const fd = openFifo(this.#fifoPath);
      this.#partial += this.#taken();
      closeFd(this.#fd);
      this.#fd = fd;
      this.#inode = this.#inPlace()?.ino ?? null;
    } catch {
      this.#unheard = true;
    }
    return true;
  }

  /** Creates the FIFO. Returns false if a hook has created a file at its path. */
  #makeFifo(): boolean {
    try {
      makeFifo(this.#fifoPath);
      return true;
    } catch (error) {
      if (this.#inPlace()?.isFile) return false;
      throw error;
    }
  }

  /** The file at the path of the FIFO. */
  #inPlace(): Deno.FileInfo | undefined {
    try {
      return Deno.lstatSync(this.#fifoPath);
    } catch {
      return undefined;
    }
  }

  /** Returns the calls since the last read. Lines without the run's secret and unreadable payloads are left out. */
  read(): readonly HookCall[] {
    const lines = (this.#partial + this.#taken()).split("\n");
    const partial = lines.pop() ?? "";
    this.#partial = partial.length > MAX_LINE ? "" : partial;
    return lines.map((line) => this.#call(line)).filter((call) => call !== undefined);
  }

  /** Whether calls of hooks were lost, because their folder is full or was removed. */
  get hasLostCalls(): boolean {
    if (this.#unheard) return true;
    try {
      Deno.lstatSync(this.#payloadDir);
      return false;
    } catch (error) {
      return error instanceof Deno.errors.NotFound;
    }
  }

  /** Answers a hook that waits. Does nothing if the hook has ended. */
  answer(id: string, reply?: HookPayload): void {
    const text = reply === undefined ? "" : JSON.stringify(reply);
    const bytes = new TextEncoder().encode(`${text}\n`);
    if (bytes.length <= MAX_LINE) {
      this.#write(id, bytes);
      return;
    }
    try {
      Deno.writeFileSync(`${this.#payloadDir}/${id}${REPLY_SUFFIX}`, bytes, { mode: 0o600 });
      this.#write(id, NO_LINE);
    } catch {
      // The answer cannot reach the hook, so the hook forbids the action of its event.
      this.#unheard = true;
      this.veto(id);
    }
  }

  /** Makes a waiting hook forbid the action of its event, if that is possible. */
  veto(id: string): void {
    this.#write(id, new TextEncoder().encode(`${FORBID}\n`));
  }

  #write(id: string, line: Uint8Array<ArrayBuffer>): void {
    const path = `${this.#payloadDir}/${id}${ANSWER_SUFFIX}`;
    try {
      const fd = openFifo(path);
      writeFd(fd, line);
      closeFd(fd);
      Deno.removeSync(path);
    } catch (error) {
      if (!(error instanceof LibcError || error instanceof Deno.errors.NotFound)) throw error;
    }
  }

  #taken(): string {
    let text = "";
    for (let taken = 0; taken < MAX_READ;) {
      const count = readFd(this.#fd, this.#buffer);
      if (typeof count !== "number") break;
      text += this.#decoder.decode(this.#buffer.subarray(0, count), { stream: true });
      taken += count;
    }
    return text;
  }

  #call(line: string): HookCall | undefined {
    const [secret, name, mark, place = ""] = line.split(" ");
    if (secret !== this.#secret || name === undefined) return undefined;
    if (name === UNHEARD) this.#unheard = true;
    if (name !== END && !/^\d+$/u.test(name)) return undefined;
    const path = `${this.#payloadDir}/${name}`;
    try {
      const payload = readJsonObject(path, { limit: MAX_PAYLOAD });
      const ranAt = Deno.lstatSync(path).mtime?.getTime();
      Deno.removeSync(path);
      const event = mark === STATUS_LINE ? STATUS_LINE : payload?.["hook_event_name"];
      return typeof event === "string" && payload
        ? {
          event,
          payload,
          ...(ranAt === undefined ? {} : { ranAt }),
          ...(mark === ASKS ? { id: name } : {}),
          ...(/^\d+$/u.test(place) ? { callback: Number(place) } : {}),
        }
        : undefined;
    } catch {
      return undefined;
    }
  }

  /** Ends the waiting hooks. The child has ended or is about to end, and hooks can outlive it. */
  [Symbol.dispose](): void {
    closeFd(this.#fd);
    for (const name of namesIn(this.#payloadDir)) {
      if (name.endsWith(ANSWER_SUFFIX)) this.veto(name.slice(0, -ANSWER_SUFFIX.length));
    }
  }
}
