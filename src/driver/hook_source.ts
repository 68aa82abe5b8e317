import { closeFd, readFd } from "../../ffi/fd.ts";
import { openFifo } from "../../ffi/fifo.ts";
import type { HookPayload } from "../session/input.ts";

/** One call of a hook of ours. */
export interface HookCall {
  readonly event: string;
  readonly payload: HookPayload;
}

/** Reads the FIFO on which hooks announce themselves, and the payloads they left. */
export class HookSource implements Disposable {
  readonly fd: number;
  readonly #payloadDir: string;
  readonly #secret: string;
  readonly #buffer = new Uint8Array(4096);
  readonly #decoder = new TextDecoder();
  #partial = "";

  constructor(
    sandbox: { readonly fifoPath: string; readonly payloadDir: string; readonly secret: string },
  ) {
    this.fd = openFifo(sandbox.fifoPath);
    this.#payloadDir = sandbox.payloadDir;
    this.#secret = sandbox.secret;
  }

  /** The calls announced since the last read; lines without the run's secret and unreadable payloads are left out. */
  read(): readonly HookCall[] {
    let text = this.#partial;
    for (;;) {
      const count = readFd(this.fd, this.#buffer);
      if (typeof count !== "number") break;
      text += this.#decoder.decode(this.#buffer.subarray(0, count), { stream: true });
    }
    const lines = text.split("\n");
    this.#partial = lines.pop() ?? "";
    return lines.map((line) => this.#call(line)).filter((call) => call !== undefined);
  }

  #call(line: string): HookCall | undefined {
    const [secret, name] = line.split(" ");
    if (secret !== this.#secret || name === undefined || !/^\d+$/u.test(name)) return undefined;
    const path = `${this.#payloadDir}/${name}`;
    try {
      const payload: unknown = JSON.parse(Deno.readTextFileSync(path));
      Deno.removeSync(path);
      if (typeof payload !== "object" || payload === null) return undefined;
      const event = (payload as HookPayload)["hook_event_name"];
      return typeof event === "string" ? { event, payload: payload as HookPayload } : undefined;
    } catch {
      return undefined;
    }
  }

  [Symbol.dispose](): void {
    closeFd(this.fd);
  }
}
