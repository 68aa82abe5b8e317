import { readJsonObject } from "../../sandbox/read_json_object.ts";
import type { ChildStatus } from "../../session/session_state.ts";

/** What the child says of itself in `sessions/<pid>.json`. */
export type ToldStatus = ChildStatus & { readonly version?: string };

/** Reads the child's status file, which Claude Code rewrites whenever it becomes idle, busy or waits for a choice. */
export class StatusSource {
  readonly #path: string;
  #seen = "";

  constructor(options: { readonly configDir: string; readonly pid: number }) {
    this.#path = `${options.configDir}/sessions/${options.pid}.json`;
  }

  /** The status, if the file was written since the last read. */
  read(): ToldStatus | undefined {
    let mtime: number | undefined;
    try {
      mtime = Deno.statSync(this.#path).mtime?.getTime();
    } catch {
      // Not there yet, or already removed.
      return undefined;
    }
    // Caught while it is being written it is no JSON: the next read tells.
    const { status, waitingFor, updatedAt, version } = readJsonObject(this.#path) ?? {};
    const seen = JSON.stringify([mtime, status, waitingFor, updatedAt]);
    if (seen === this.#seen || typeof status !== "string") return undefined;
    this.#seen = seen;
    return {
      status,
      ...(typeof waitingFor === "string" ? { waitingFor } : {}),
      ...(typeof updatedAt === "number" ? { updatedAt } : {}),
      ...(typeof version === "string" ? { version } : {}),
    };
  }
}
