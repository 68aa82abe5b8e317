import { namesIn } from "../../../ffi/files/at_path.ts";
import { closeFd, readFd, writeFd } from "../../../ffi/descriptors/fd.ts";
import { makeFifo, openFifo } from "../../../ffi/descriptors/pipe.ts";
import { readRegularFile } from "../../../ffi/files/regular_file.ts";
import { LibcError } from "../../../ffi/errno.ts";
import { ASKS, FORBID, REPLY_SUFFIX, STATUS_LINE, UNHEARD } from "../../sandbox/child/hooks.ts";
import { ANSWER_SUFFIX, END } from "../../sandbox/folder/folder_layout.ts";
import { readJsonObject } from "../../sandbox/read_json_object.ts";
import type { HookPayload } from "../../conversation/control/input.ts";

/** One call of a hook of ours. */
export interface HookCall {
  /** The event's name, or `STATUS_LINE`. */
  readonly event: string;
  readonly payload: HookPayload;
  /** By what it is answered, if it waits for that. */
  readonly id?: string;
  /** The caller's hook that it stands for, by its place. */
  readonly callback?: number;
  /** When it ran, in milliseconds since the epoch; absent where the file system does not tell. */
  readonly ranAt?: number;
}

/** Most bytes of one read: what a FIFO holds, pipe(7). Whoever floods it keeps nothing else from being heard. */
const MAX_READ = 65536;
/** Longest line that can be ours: longer ones could not be written in one piece, pipe(7). */
const MAX_LINE = 4096;
/** Says that an answer stands elsewhere, or that there is none. */
const NO_LINE = new TextEncoder().encode("\n");
/** Largest payload, in bytes: it may hold a prompt of 10 MiB in which every character is escaped. */
const MAX_PAYLOAD = 128_000_000;

/** Reads the FIFO on which hooks announce themselves, and the payloads they left. */
export class HookSource implements Disposable {
  readonly #fifoPath: string;
  #fd: number;
  /** Which FIFO that is, in the file system. */
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

  /** What is read of: another one once the FIFO had to be made anew. */
  get fd(): number {
    return this.#fd;
  }

  /**
   * Makes the FIFO anew if it is not in its place any more, as where somebody cleans up. A hook that finds none makes a
   * file there and announces itself in that: what it says is among the calls of the next read.
   *
   * @returns whether there is something to be read because of it
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
      // A hook may have made a file since this looked: the next look reads it.
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

  /** Makes the FIFO. Returns false if a hook has made a file in its place. */
  #makeFifo(): boolean {
    try {
      makeFifo(this.#fifoPath);
      return true;
    } catch (error) {
      if (this.#inPlace()?.isFile) return false;
      throw error;
    }
  }

  /** What stands where the FIFO is to be. */
  #inPlace(): Deno.FileInfo | undefined {
    try {
      return Deno.lstatSync(this.#fifoPath);
    } catch {
      return undefined;
    }
  }

  /** The calls announced since the last read; lines without the run's secret and unreadable payloads are left out. */
  read(): readonly HookCall[] {
    const lines = (this.#partial + this.#taken()).split("\n");
    const partial = lines.pop() ?? "";
    this.#partial = partial.length > MAX_LINE ? "" : partial;
    return lines.map((line) => this.#call(line)).filter((call) => call !== undefined);
  }

  /** Whether hooks have something to tell and no place to put it: their folder is full, or gone. */
  get hasLostCalls(): boolean {
    if (this.#unheard) return true;
    try {
      Deno.lstatSync(this.#payloadDir);
      return false;
    } catch (error) {
      return error instanceof Deno.errors.NotFound;
    }
  }

  /** Answers a hook that waits for it; one that is gone needs none. */
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
      // Where its answer has no room, what it is about may not be done.
      this.#unheard = true;
      this.veto(id);
    }
  }

  /** Has a hook that waits forbid what it is about, if its event can be forbidden. */
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

  /** Ends the hooks that still wait: their child is gone, or is about to be, and does not always take them with it. */
  [Symbol.dispose](): void {
    closeFd(this.#fd);
    for (const name of namesIn(this.#payloadDir)) {
      if (name.endsWith(ANSWER_SUFFIX)) this.veto(name.slice(0, -ANSWER_SUFFIX.length));
    }
  }
}
