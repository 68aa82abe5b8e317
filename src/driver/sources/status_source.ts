import { readJsonObject } from "../../sandbox/read_json_object.ts";

/** What the child says of itself in `sessions/<pid>.json`. */
export interface ChildStatus {
  readonly status: string;
  readonly waitingFor?: string;
  readonly version?: string;
}

/** Reads the child's status file, which Claude Code rewrites whenever it becomes idle, busy or waits for a choice. */
export class StatusSource {
  readonly #path: string;
  #seen = "";

  constructor(options: { readonly configDir: string; readonly pid: number }) {
    this.#path = `${options.configDir}/sessions/${options.pid}.json`;
  }

  /**
   * The status, if the file was written since the last read, or `idleSince` is another one than then.
   *
   * @param options.idleSince an idle status of an earlier time is left out, in milliseconds since the epoch: on a busy
   * machine that of the start stands there until after the Stop hook of a short turn
   */
  read({ idleSince = 0 }: { readonly idleSince?: number } = {}): ChildStatus | undefined {
    let mtime: number | undefined;
    try {
      mtime = Deno.statSync(this.#path).mtime?.getTime();
    } catch {
      // Not there yet, or already removed.
      return undefined;
    }
    // Caught while it is being written it is no JSON: the next read tells.
    const { status, waitingFor, updatedAt, version } = readJsonObject(this.#path) ?? {};
    const seen = JSON.stringify([idleSince, mtime, status, waitingFor, updatedAt]);
    if (seen === this.#seen || typeof status !== "string") return undefined;
    this.#seen = seen;
    const isStale = typeof updatedAt === "number" && updatedAt < idleSince;
    if (status === "idle" && isStale) return undefined;
    return {
      status,
      ...(typeof waitingFor === "string" ? { waitingFor } : {}),
      ...(typeof version === "string" ? { version } : {}),
    };
  }
}
