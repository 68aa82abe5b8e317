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

  /** The status, if the file was written since the last read. */
  read(): ChildStatus | undefined {
    let text: string;
    try {
      const { mtime } = Deno.statSync(this.#path);
      text = Deno.readTextFileSync(this.#path);
      const seen = `${mtime?.getTime()} ${text}`;
      if (seen === this.#seen) return undefined;
      this.#seen = seen;
      const value = JSON.parse(text) as {
        readonly status?: unknown;
        readonly waitingFor?: unknown;
      };
      if (typeof value.status !== "string") return undefined;
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
