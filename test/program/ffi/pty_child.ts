import { closeFd, drainFd, writeFd } from "../../../ffi/descriptors/fd.ts";
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
  /** Called with all that the terminal has shown, after each read. */
  readonly onShown?: (text: string) => void;
}

/** How a child ended, and all that it wrote to its terminal. */
export interface PtyChildEnd {
  readonly status: ExitStatus;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly text: string;
}

/** A wait that takes this long fails the test instead of hanging it, in milliseconds. */
const PATIENCE_MS = 300_000;

/** How often a condition is looked at, in milliseconds. */
const LOOK_MS = 10;

/** A child on a pty of its own, read with the calls that the program uses. */
export class PtyChild implements AsyncDisposable {
  readonly pid: number;
  readonly pty: Pty;
  readonly #onShown: (text: string) => void;
  readonly #pidfd: number;
  readonly #poller = new Poller();
  readonly #buffer = new Uint8Array(64 * 1024);
  readonly #chunks: Uint8Array[] = [];
  readonly #decoder = new TextDecoder();
  #hungUp = false;
  #status: ExitStatus | undefined;

  /** All that the terminal has shown so far. */
  text = "";

  constructor(file: string, options: PtyChildOptions = {}) {
    const { args = [], env = { PATH: "/usr/bin:/bin" }, cwd = "/", stdin, size } = options;
    this.#onShown = options.onShown ?? (() => {});
    this.pty = openPty(size ?? DEFAULT_WINDOW_SIZE);
    const { pty } = this;
    this.pid = spawn(file, { args, env, cwd, pty, ...(stdin === undefined ? {} : { stdin }) });
    this.#pidfd = openPidfd(this.pid);
  }

  /** Types at the terminal. */
  press(keys: string): void {
    const bytes = new TextEncoder().encode(keys);
    if (writeFd(this.pty.fd, bytes) !== bytes.length) {
      throw new Error(`Cannot press ${keys} at once`);
    }
  }

  /** Serves the terminal until a condition holds. */
  async until(condition: () => boolean | Promise<boolean>): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS;
    while (!await condition()) {
      if (performance.now() > deadline) {
        throw new Error(`Cannot wait any longer: the terminal shows ${JSON.stringify(this.text)}`);
      }
      await this.#step(false);
    }
  }

  /** Reads until the terminal has shown `text`, and returns all it has shown so far. */
  async readUntil(text: string): Promise<string> {
    await this.until(() => {
      if (this.text.includes(text)) return true;
      if (this.#status === undefined) return false;
      throw new Error(`Cannot find ${JSON.stringify(text)} in ${JSON.stringify(this.text)}`);
    });
    return this.text;
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
    return { status: this.#status, bytes, text: this.text };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#status === undefined) killGroup(this.pid, "SIGKILL");
    await this.end();
    this.#poller[Symbol.dispose]();
    this.pty[Symbol.dispose]();
    closeFd(this.#pidfd);
  }

  async #step(write: boolean): Promise<boolean> {
    const terminal = this.#hungUp ? [] : [{ fd: this.pty.fd, read: true, write }];
    const child = this.#status === undefined ? [{ fd: this.#pidfd, read: true }] : [];
    const ready = await this.#poller.wait([...terminal, ...child], LOOK_MS);
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
        this.text += this.#decoder.decode(bytes, { stream: true });
      },
    });
    if (state === "end") this.#hungUp = true;
    this.#onShown(this.text);
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
