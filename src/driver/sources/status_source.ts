import { fileAt } from "../../../ffi/files/at_path.ts";
import { readJsonObject } from "../../sandbox/read_json_object.ts";
import type { ChildStatus } from "../../session/memory/child_memory.ts";

/** What the child says of itself in `sessions/<pid>.json`. */
export type ToldStatus = ChildStatus & { readonly version?: string };

/** How old a state is that is the file's last for its time, in milliseconds: the clock of a disk is a coarse one. */
const SETTLED_MS = 1000;

/** Reads the child's status file, which Claude Code rewrites whenever it becomes idle, busy or waits for a choice. */
export class StatusSource {
  readonly #path: string;
  #seen = "";
  /** The file as it was when it was read last, if it was old enough by then. */
  #settled = "";

  constructor(options: { readonly configDir: string; readonly pid: number }) {
    this.#path = `${options.configDir}/sessions/${options.pid}.json`;
  }

  /** The status, if the file was written since the last read. */
  read(): ToldStatus | undefined {
    const file = fileAt(this.#path);
    // Not there yet, or already removed.
    if (file === undefined) return undefined;
    const mtime = file.mtime?.getTime() ?? Infinity;
    const written = `${file.ino} ${file.size} ${mtime}`;
    if (written === this.#settled) return undefined;
    if (Date.now() - mtime > SETTLED_MS) this.#settled = written;
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
