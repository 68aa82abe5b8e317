/** What the child says of itself in `sessions/<pid>.json`. */
export interface ChildStatus {
  readonly status: string;
  readonly waitingFor?: string;
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
    let text: string;
    try {
      const { mtime } = Deno.statSync(this.#path);
      text = Deno.readTextFileSync(this.#path);
      const seen = `${idleSince} ${mtime?.getTime()} ${text}`;
      if (seen === this.#seen) return undefined;
      this.#seen = seen;
      const value = JSON.parse(text) as {
        readonly status?: unknown;
        readonly waitingFor?: unknown;
        readonly updatedAt?: unknown;
      };
      if (typeof value.status !== "string") return undefined;
      const { updatedAt } = value;
      const isStale = typeof updatedAt === "number" && updatedAt < idleSince;
      if (value.status === "idle" && isStale) return undefined;
      return {
        status: value.status,
        ...(typeof value.waitingFor === "string" ? { waitingFor: value.waitingFor } : {}),
      };
    } catch {
      // Not there yet, already removed, or caught while it was being written: the next read tells.
      return undefined;
    }
  }
}
