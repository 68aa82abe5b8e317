import { closeFd, drainFd } from "../../../ffi/descriptors/fd.ts";
import { Poller } from "../../../ffi/descriptors/poll.ts";
import { type ExitStatus, killGroup, openPidfd, waitFor } from "../../../ffi/processes/process.ts";
import {
  DEFAULT_WINDOW_SIZE,
  openPty,
  type Pty,
  type WindowSize,
} from "../../../ffi/terminal/pty.ts";
import { spawn } from "../../../ffi/processes/spawn.ts";

/** The options of a child, with plain defaults. */
export interface PtyChildOptions {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly stdin?: string;
  readonly size?: WindowSize;
}

/** How a child ended, and all that it wrote to its terminal. */
export interface PtyChildEnd {
  readonly status: ExitStatus;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly text: string;
}

/** A wait that finds nothing for so long fails the test instead of hanging it. */
const PATIENCE_MS = 60_000;

/** A child on a pty of its own, read with the calls that the program uses. */
export class PtyChild implements AsyncDisposable {
  readonly pid: number;
  readonly pty: Pty;
  readonly #pidfd: number;
  readonly #poller = new Poller();
  readonly #buffer = new Uint8Array(64 * 1024);
  readonly #chunks: Uint8Array[] = [];
  #text = "";
  readonly #decoder = new TextDecoder();
  #hungUp = false;
  #status: ExitStatus | undefined;

  constructor(file: string, options: PtyChildOptions = {}) {
    const { args = [], env = { PATH: "/usr/bin:/bin" }, cwd = "/", stdin, size } = options;
    this.pty = openPty(size ?? DEFAULT_WINDOW_SIZE);
    this.pid = spawn(file, {
      args,
      env,
      cwd,
      pty: this.pty,
      ...(stdin === undefined ? {} : { stdin }),
    });
    this.#pidfd = openPidfd(this.pid);
  }

  /** Reads until the terminal has shown `text`, and returns all it has shown so far. */
  async readUntil(text: string): Promise<string> {
    while (!this.#text.includes(text)) {
      if (this.#status !== undefined) {
        throw new Error(`Cannot find ${JSON.stringify(text)} in ${JSON.stringify(this.#text)}`);
      }
      await this.#step(false);
    }
    return this.#text;
  }

  /** Reads until the terminal takes input again. */
  async writable(): Promise<void> {
    while (!await this.#step(true));
  }

  /** Reads until the child has ended and all it wrote is here. */
  async end(): Promise<PtyChildEnd> {
    while (this.#status === undefined) await this.#step(false);
    while (!this.#hungUp && this.#drain() === "more");
    const bytes = new Uint8Array(
      await new Blob(this.#chunks.map((c) => Uint8Array.from(c))).arrayBuffer(),
    );
    return { status: this.#status, bytes, text: this.#text };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#status === undefined) killGroup(this.pid, "SIGKILL");
    await this.end();
    this.#poller[Symbol.dispose]();
    this.pty[Symbol.dispose]();
    closeFd(this.#pidfd);
  }

  async #step(write: boolean): Promise<boolean> {
    const terminal = { fd: this.pty.fd, read: true, write };
    const child = { fd: this.#pidfd, read: true };
    const ready = await this.#poller.wait(this.#hungUp ? [child] : [terminal, child], PATIENCE_MS);
    if (ready.length === 0) throw new Error("Cannot go on: the child is silent");
    for (const { fd } of ready) {
      if (fd === this.pty.fd) this.#drain();
      else this.#status = waitFor(this.pid);
    }
    return ready.some(({ writable }) => writable);
  }

  #drain(): "again" | "end" | "more" {
    const state = drainFd(this.pty.fd, {
      buffer: this.#buffer,
      onBytes: (bytes) => {
        this.#chunks.push(bytes.slice());
        this.#text += this.#decoder.decode(bytes, { stream: true });
      },
    });
    if (state === "end") this.#hungUp = true;
    return state;
  }
}

/** Runs a shell script on a pty to its end. */
export async function runScript(
  script: string,
  options: Omit<PtyChildOptions, "args"> = {},
): Promise<PtyChildEnd> {
  await using child = new PtyChild("/bin/sh", { ...options, args: ["-c", script] });
  return await child.end();
}
